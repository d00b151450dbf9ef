"""Hive's metastore as a process of this machine, for tests: its classes and Derby come with pyspark's jars. It keeps
what it knows in a folder, so it can be stopped and started again.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

JARS = Path(pyspark.__path__[0]) / "jars"
PATIENCE = 60.0
_LOG = """status = ERROR
rootLogger.level = ERROR
rootLogger.appenderRef.one.ref = one
appender.one.type = Console
appender.one.name = one
appender.one.layout.type = PatternLayout
appender.one.layout.pattern = %d %p %c %m%n%ex
appender.one.target = SYSTEM_ERR
"""


@dataclass
class Metastore:
    """One metastore; not running until it is started."""

    folder: Path
    port: int = field(default_factory=lambda: _free_port())
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.support.metastore", str(self.folder), str(self.port)]
        with (self.folder / "metastore.log").open("w") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
        ends = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None and time.monotonic() < ends, (self.folder / "metastore.log").read_text()
            time.sleep(0.1)

    def stop(self) -> None:
        if self._process is not None:
            # Its JVM ends when nobody is there any more who started it.
            self._process.kill()
            self._process.communicate()
            self._process = None
            while self._answers():
                time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except OSError:
            return False
        return True


def main(folder: Path, port: int) -> None:
    """As its own main program does, but for this machine only."""
    (folder / "log4j2.properties").write_text(_LOG)
    options = [
        *("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *(f"-Dlog4j2.configurationFile={folder}/log4j2.properties", f"-Dderby.stream.error.file={folder}/derby.log"),
    ]
    gateway = launch_gateway(classpath=f"{JARS}/*", javaopts=options, die_on_exit=True, redirect_stderr=sys.stderr)
    jvm: Any = JavaGateway(gateway_parameters=GatewayParameters(port=gateway)).jvm
    hive, thrift = jvm.org.apache.hadoop.hive.metastore, jvm.org.apache.thrift
    conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
    for key, value in {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:{folder}/derby;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"{folder}/files",
        "datanucleus.connectionPoolingType": "HikariCP",
        # Whoever commits takes a lock there.
        "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    }.items():
        conf.set(key, value)
    if not (folder / "derby").exists():
        hive.txn.TxnDbUtil.prepDb(conf)
    handler = hive.RetryingHMSHandler.getProxy(conf, hive.HiveMetaStore.HMSHandler("metastore", conf, False), False)
    here = thrift.transport.TServerSocket(jvm.java.net.InetSocketAddress("127.0.0.1", port))
    args = thrift.server.TThreadPoolServer.Args(here).processor(hive.TSetIpAddressProcessor(handler))
    thrift.server.TThreadPoolServer(args.minWorkerThreads(4).maxWorkerThreads(32)).serve()


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
