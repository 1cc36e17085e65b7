"""The doctor: verdicts from known files of a kernel, and from the machine it runs on."""
import contextlib
import errno
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

import support
from driver.console import UsageProblem
from driver.lab import doctor, kernel, limits, processors, programs
from driver.lab.findings import FIT, NOT_AVAILABLE, NOT_FIT, System


class FakeKernel(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = Path(self.directory.name)
        self.system = System(self.root)

    def write(self, path: str, text: str) -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n", encoding="utf-8")

    def test_a_quota_of_an_outer_group_is_found(self):
        self.write("/proc/self/cgroup", "0::/outer/inner")
        self.write("/sys/fs/cgroup/outer/cpu.max", "150000 100000")
        self.write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000")
        found = processors.quota(self.system)
        self.assertEqual((found.verdict, found.value), (NOT_FIT, "1.5 processors"))

    def test_a_quota_of_the_older_hierarchy_is_found(self):
        self.write("/proc/self/cgroup", "2:cpuacct:/\n1:cpu:/box\n0::/")
        self.write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000")
        self.write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000")
        self.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1")
        self.assertEqual(processors.quota(self.system).value, "0.5 processors")

    def test_no_quota_is_fit(self):
        self.write("/proc/self/cgroup", "0::/")
        self.write("/sys/fs/cgroup/cpu.max", "max 100000")
        self.assertEqual(processors.quota(self.system).verdict, FIT)

    def test_steal_and_foreign_time_have_the_limits_of_the_noise_gate(self):
        self.write("/proc/stat", "cpu  100 0 100 1000 0 0 0 0 0 0")
        stolen = "cpu  103 0 100 1095 0 0 0 2 0 0"

        class Later(System):
            reads = 0

            def text(self, path):
                self.reads += 1
                return super().text(path) if self.reads == 1 else stolen

        steal, foreign = processors.others(Later(self.root), sample_s=0)
        self.assertEqual((steal.verdict, steal.value), (NOT_FIT, "2.0 % in a second"))
        self.assertEqual((foreign.verdict, foreign.value), (FIT, "3.0 % in a second"))

    def test_governor_and_turbo_name_the_file_to_write(self):
        base = "/sys/devices/system/cpu"
        self.write(f"{base}/cpu0/cpufreq/scaling_governor", "powersave")
        self.write(f"{base}/intel_pstate/no_turbo", "0")
        governor, turbo = processors.frequency(self.system)
        self.assertEqual((governor.verdict, governor.value), (NOT_FIT, "powersave"))
        self.assertEqual((turbo.verdict, turbo.value), (NOT_FIT, "on"))
        self.assertIn(f"{base}/intel_pstate/no_turbo to 1", turbo.advice)
        self.write(f"{base}/intel_pstate/no_turbo", "1")
        self.assertEqual(processors.frequency(self.system)[1].verdict, FIT)

    def test_what_the_machine_hides_is_not_available_rather_than_fit(self):
        for finding in (*processors.frequency(self.system), processors.pressure(self.system),
                        processors.threads(self.system), processors.clock(self.system),
                        processors.mitigations(self.system)):
            self.assertEqual(finding.verdict, NOT_AVAILABLE, finding)

    def test_small_limits_say_the_command_that_raises_them(self):
        self.write("/proc/sys/net/core/somaxconn", "128")
        self.write("/proc/sys/net/ipv4/ip_local_port_range", "32768 33000")
        self.write("/proc/sys/net/ipv4/tcp_tw_reuse", "0")
        for finding in limits.network(self.system):
            self.assertEqual(finding.verdict, NOT_FIT, finding)
            self.assertIn("sysctl -w net.", finding.advice)

    def test_each_way_to_refuse_io_uring_has_its_advice(self):
        self.write("/proc/sys/kernel/osrelease", "6.6.0")
        self.assertEqual(limits.io_uring(self.system, 0).verdict, FIT)
        self.assertIn("Linux 6.6.0", limits.io_uring(self.system, 0).value)
        self.assertIn("left out", limits.io_uring(self.system, errno.EPERM).advice)
        self.write("/proc/self/status", "Seccomp:\t2")
        self.assertIn("seccomp", limits.io_uring(self.system, errno.EPERM).advice)
        self.write("/proc/sys/kernel/io_uring_disabled", "2")
        self.assertIn("io_uring_disabled=0", limits.io_uring(self.system, errno.EPERM).advice)

    def test_missing_and_forbidden_counters_are_told_apart(self):
        self.assertEqual(limits.counters(self.system, errno.ENOENT).value, "no PMU")
        self.assertIn("N/A: no PMU", limits.counters(self.system, errno.EOPNOTSUPP).advice)
        self.write("/proc/sys/kernel/perf_event_paranoid", "3")
        forbidden = limits.counters(self.system, errno.EACCES)
        self.assertEqual(forbidden.verdict, NOT_FIT)
        self.assertIn("paranoid is 3", forbidden.value)

    def test_a_missing_program_names_its_package(self):
        found = {finding.name: finding for finding in
                 programs.load_programs(self.root, lambda name: None)}
        self.assertIn("apt-get install apache2-utils", found["ab"].advice)
        self.assertEqual(found["loadgen"].advice, "./heddle build")

    def test_peers_come_from_the_configured_build_with_their_reasons(self):
        self.assertIn("./heddle list", programs.peers(self.root)[0].advice)
        self.write("/zoo.json", json.dumps({"peers": [
            {"name": "raw-epoll", "protocols": ["hello"], "available": True},
            {"name": "raw-epoll", "protocols": ["echo"], "available": True},
            {"name": "go", "protocols": ["hello"], "available": False,
             "reason": "needs golang-go"}]}))
        found = programs.peers(self.root)
        self.assertEqual([finding.verdict for finding in found], [FIT, NOT_FIT])
        self.assertEqual((found[0].value, found[1].advice), ("hello, echo", "needs golang-go"))


class ThisMachine(unittest.TestCase):
    def test_every_line_has_a_verdict_and_what_is_unfit_says_what_to_do(self):
        for finding in doctor.examine(support.ROOT):
            self.assertIn(finding.verdict, (FIT, NOT_FIT, NOT_AVAILABLE))
            self.assertTrue(finding.value, finding)
            if finding.verdict == NOT_FIT:
                self.assertTrue(finding.advice, finding)

    def test_the_kernel_is_asked_and_nothing_is_left_open(self):
        before = sorted(os.listdir("/proc/self/fd"))
        for error in (kernel.io_uring_error(), kernel.cycle_counter_error()):
            self.assertTrue(error == 0 or error in errno.errorcode, error)
        self.assertEqual(sorted(os.listdir("/proc/self/fd")), before)
        self.assertEqual(kernel.cycle_counter_error("no such machine"), errno.ENOSYS)

    def test_affinity_is_as_before(self):
        before = os.sched_getaffinity(0)
        processors.pinning()
        self.assertEqual(os.sched_getaffinity(0), before)

    def test_json_and_table_have_the_same_lines(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(doctor.command_doctor(["--json"]), 0)
        told = json.loads(out.getvalue())
        self.assertEqual(told["schema"], "heddle-doctor-1")
        names = [finding["name"] for finding in told["findings"]]
        self.assertEqual(told["fit"], all(finding["verdict"] != NOT_FIT
                                          for finding in told["findings"]))
        text = doctor.table(doctor.examine(support.ROOT))
        for name in names:
            self.assertIn(name, text)

    def test_an_unknown_option_is_refused(self):
        with self.assertRaisesRegex(UsageProblem, "unknown option '--jsn'"):
            doctor.command_doctor(["--jsn"])


if __name__ == "__main__":
    unittest.main()
