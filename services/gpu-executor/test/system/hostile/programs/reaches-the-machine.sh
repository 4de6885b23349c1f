# What listens on loopback trusts who reaches it.
"$NODE" -e '
const net = require("node:net");
const reached = (what) => function () {
  console.log("breached: reached " + what);
  this.destroy();
};
net.connect(Number(process.env.SERVER_PORT), "127.0.0.1", reached("a service of the machine")).on("error", () => undefined);
net.connect("\0" + process.env.BREACH, reached("a socket without a file")).on("error", () => undefined);
fetch("http://127.0.0.1:" + process.env.SERVER_PORT)
  .then((answer) => answer.text())
  .then((text) => text === "a secret" && console.log("breached: a service of the machine answered"))
  .catch(() => undefined);
'
