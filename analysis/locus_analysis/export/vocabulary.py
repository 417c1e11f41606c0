# SPDX-License-Identifier: Apache-2.0
"""Words that may stay in an anonymous record (anonymous.py): words of locus's own sentences, and
names of processors, vendors, compilers and settings of the kernel. Any other word is left out, so a
new sentence needs its words here."""

from __future__ import annotations

import re
from typing import Optional

# Of sentences in trials: reasons and notes.
SENTENCES = """
about after again all allocation allocations an and another any apart are as aside at available back
batch batches be because been before begin begins benchmark between both bound budget but by bytes
cache can't cannot changed changes check checked claimed clock close completed continue could count
counted counters counting counts covers created cut cycle data described describes did differs
disturbed divided do doubtful drifted each earlier effect elsewhere ends events evicted expected
fast few fewer finished first float for free from group had has have here hide host how huge
hypervisor hypervisors if impossible in incomplete inherited instead instructions interrupted
interval is it its kind kinds known lack last layout least left lie lies limit line lines list locus
long longer machine machines many matter may mean means measure measured median meetings memory
memory's migrations miss mmap more most moved moves mpi names needed needs never no node nodes none
not notes nothing number numbers of off on once one only open or other others out output outside
over own page pages pair pairs parameters part pass per pinned placement policy preemptions process
processes profile protocol ran range rank ranks rate read reading reads reason record regions remote
repeats reported requested rerun result resume root row run runs same sample sampled samples saw
says second set sets share shared shares shift shifted shortest shows side single size sizes slow
smaller so some spent spread stays stolen stop stopped sum sums switches table take taken takes
target text than that the their them then there these they third this thread threads time times tlb
to too took topology touch transparent trial trials trusted two unit unless unverified up use used
value values variant variants virtual was were what when where which while wide with without work
worked worker workers you zero zeros allocate allow allows already alone ask aslr brackets branch
calls choose combinations complete contradicts core cores cpu cpus decides disjoint estimated file
flushed gave give giving held if left let like localalloc make most move oversubscribe
oversubscribed pe pinning prepare prepared probe probed quoted removed rounds see sees sit slot
suite sums supported turn was were watchdog writing written need sysctl vm.nr_hugepages ns us ms ps
s b kib mib gib tib kb mb gb iteration load loads tick ticks message messages op ops operation
operations lookup lookups key keys point points update updates pass passes byte step steps sigint
sigterm sighup
"""
# Of processors, machines, and what is on them.
HARDWARE = """
amd arm intel ibm apple ampere hygon zhaoxin fujitsu nvidia cavium marvell hisilicon huawei
qualcomm phytium loongson aws genuineintel authenticamd hygongenuine epyc ryzen threadripper opteron
athlon xeon r tm core atom celeron pentium phi ultra platinum gold silver bronze cpu processor
processors cores eight twelve sixteen neoverse cortex altra max graviton grace kunpeng thunderx
thunderx2 a64fx power power8 power9 power10 riscv x86_64 aarch64 arm64 ppc64le ppc64 riscv64 s390x
ghz mhz khz ddr ddr2 ddr3 ddr4 ddr5 lpddr4 lpddr5 hbm hbm2 hbm2e hbm3 rdimm lrdimm registered
unbuffered unknown dell emc inc hewlett packard enterprise hpe hp lenovo supermicro super micro
computer gigabyte technology asus asustek asrock rack tyan inspur atos bull cray quanta wiwynn
foxconn oracle cisco corporation systems american megatrends international llc insyde phoenix qemu
kvm vmware xen microsoft google amazon ec2 openstack nova virtualbox parallels bhyve hyper-v
poweredge proliant primergy thinksystem superserver apollo package numanode die group l1cache
l2cache l3cache l4cache l1dcache l1icache l2dcache l3dcache machine memory indexes ind size pu numa
socket intelcore intelatom capacity l1 l2 l3 ip dcu adjacent line hardware stream stride region
up down prefetcher
"""
FLAGS = """
sse sse2 sse3 ssse3 sse4_1 sse4_2 avx avx2 fma f16c bmi1 bmi2 popcnt aes sha_ni vaes gfni movbe
avx512f avx512cd avx512dq avx512bw avx512vl avx512ifma avx512vbmi avx512_vbmi2 avx512_vnni
avx512_bitalg avx512_vpopcntdq avx512_bf16 avx512_fp16 avx_vnni amx_tile amx_int8 amx_bf16 rtm hle
cx16 lm ht pdpe1gb rdtscp constant_tsc nonstop_tsc clflush clflushopt clwb cldemote movdiri
movdir64b serialize erms fsrm waitpkg hypervisor la57 smep smap ibrs ibpb stibp mba cat_l3 cdp_l3
fp asimd crc32 atomics sve sve2 sha1 sha2 pmull lse
"""
# Of settings of the kernel and of the program.
SETTINGS = """
slurm gcc clang icx icc cc llvm aocc debian ubuntu red hat fedora suse open mpi mpich mvapich intel
glibc musl clock_monotonic_raw clock_monotonic tsc hpet acpi_pm jiffies kvm-clock xen
arch_sys_counter hyperv_clocksource_tsc_page xor imul add cycle cycles intel_pstate intel_cpufreq
acpi-cpufreq amd-pstate amd-pstate-epp cppc_cpufreq pcc-cpufreq performance powersave schedutil
ondemand conservative userspace always madvise never defer within_size advise deny force kvm qemu
mitigation mitigations vulnerable affected enhanced automatic ibrs ibpb retpolines retpoline clear
buffers conditional always-on filling stibp rsb pbrsb-eibrs pti ept inversion flush disabled enabled
usercopy swapgs barriers __user pointer sanitization speculative bypass via prctl seccomp state
buffer smt host untrained return thunk safe ret no microcode required eibrs bhi bhi_dis_s sw loop
syscall hardening not vmx split huge default bind interleave preferred local prefer close spread
layout true false master primary launcher a taskset cpuset omp_proc_bind likwid-pin likwid-perfctr
likwid-mpirun suite list doctor health topology hwloc libnuma jansson openmp papi likwid version
versions spectre_v1 spectre_v2 meltdown l1tf mds tsx_async_abort itlb_multihit srbds
mmio_stale_data retbleed spec_store_bypass spec_rstack_overflow gather_data_sampling
reg_file_data_sampling ghostwrite old_microcode tsa vmscape aligned thunks indirect_target_selection
"""

WORDS = frozenset(" ".join((SENTENCES, HARDWARE, FLAGS, SETTINGS)).split())
# At most seven digits, since longer ones may be serial numbers; with a unit or an exponent.
NUMBER = re.compile(r"\d{1,7}(\.\d{1,7})*(e[-+]?\d\d?)?([kmgt]?i?b|[gmk]?hz)?", re.IGNORECASE)
# "7R13", "6972P", "E5-2690", "v4", "C6420", "i7": at most four digits, and two letters
# on each side.
MODEL = re.compile(r"[A-Za-z]{0,2}\d{1,4}[A-Z]{0,2}|[1-9][A-Z]\d\d|v\d")
# Between separators; hyphens and plus signs may join several.
TOKEN = re.compile(r"[^\s(),;:=@/+±%<>|\"#\[\]-]+(?:[-+][^\s(),;:=@/+±%<>|\"#\[\]-]+)*")
PART = re.compile(r"[^-+]+")
LEFT_OUT = "..."


def known(text: str, model: bool = False) -> Optional[str]:
    """The text, if all of it is known; `model`: it may have names of models."""
    return text if words(text, model) == text else None


def words(text: str, model: bool = False) -> str:
    """The text with its known words; three dots for others."""
    return TOKEN.sub(lambda token: _word(token[0], model), text)


def _word(token: str, model: bool) -> str:
    if _is_known(token, model):
        return token
    return PART.sub(lambda part: part[0] if _is_known(part[0], model) else LEFT_OUT, token)


def _is_known(word: str, model: bool) -> bool:
    bare = word.strip(".'!?").lower()
    listed = not bare or bare in WORDS or NUMBER.fullmatch(bare)
    return bool(listed or (model and MODEL.fullmatch(word)))
