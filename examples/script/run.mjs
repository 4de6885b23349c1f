// node run.mjs DEPLOYMENT [FILE]: queues a run, shows how far it is, and prints the addresses of its output files.
import { argv, exit, stderr, stdout } from 'node:process';
import { RunFailed, Runledger } from '@runledger/client';
import { fileFrom } from '@runledger/client/node';

const [deployment = '', file] = argv.slice(2);
const client = new Runledger(); // RUNLEDGER_URL, RUNLEDGER_API_KEY
const inputs = file === undefined ? {} : { photo: await fileFrom(file) };

try {
  const run = await client.run(deployment, inputs, {
    onProgress: ({ status, progress, live_status }) =>
      void stderr.write(`${status} ${Math.round(progress * 100)} % ${live_status ?? ''}\n`),
    onLog: (item) => void stderr.write('line' in item ? `| ${item.line}\n` : ''),
  });
  for (const { data } of run.outputs)
    for (const item of Object.values(data).flat())
      stdout.write(`${typeof item === 'string' ? item : item.url}\n`);
} catch (error) {
  if (!(error instanceof RunFailed)) throw error;
  stderr.write(`${error.message}\n`);
  exit(1);
}
