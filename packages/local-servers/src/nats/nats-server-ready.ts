import { readFile, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

const ANSWER_WITHIN_MS = 2_000;
const LONGEST_INFO = 65_536;

/** The port of the nats-server with this process id; undefined until it accepts clients and JetStream is ready. */
export const readyPort = async (portsDir: string, pid: number): Promise<number | undefined> => {
  // The name of the file holds the process id, so the answer of another server on the same port does not count.
  const port = await portInFile(portsDir, pid);
  return port !== undefined && (await hasJetStream(port)) ? port : undefined;
};

/** Removes the port files of killed servers, because a new process may get the process id of an old one. */
export const removePortFiles = async (portsDir: string): Promise<void> => {
  const files = await readdir(portsDir);
  await Promise.all(files.filter((file) => file.endsWith('.ports')).map((file) => rm(join(portsDir, file))));
};

const portInFile = async (portsDir: string, pid: number): Promise<number | undefined> => {
  const file = (await readdir(portsDir)).find((name) => name.endsWith(`_${pid}.ports`));
  if (file === undefined) return undefined;
  const port = /"nats":\s*\["[^"]*:(\d+)"/.exec(await readFile(join(portsDir, file), 'utf8'))?.[1];
  return port === undefined ? undefined : Number(port);
};

// A nats-server sends one line to each new connection: INFO and a JSON object about itself.
const hasJetStream = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_WITHIN_MS });
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    let greeting = '';
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      greeting += text;
      if (greeting.includes('\r\n') || greeting.length > LONGEST_INFO) {
        answer(/^INFO \{.*"jetstream":\s*true\b/.test(greeting));
      }
    });
    for (const end of ['error', 'timeout', 'end']) socket.once(end, () => answer(false));
  });
