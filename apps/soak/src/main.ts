import { readOptions } from './options.ts';
import { soak } from './soak.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const newSeed = (): number => Math.floor(Math.random() * 2 ** 31);

const read = readOptions(process.argv.slice(2), newSeed);
if (read.ok) {
  const { options } = read;
  say(`Seed ${options.seed}. The same again: ${options.command}`);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  const { kept, report } = await soak(options, { env: process.env, say, stopping: stopping.signal });
  say(report);
  say(kept ? 'Every guarantee was kept.' : 'A guarantee was NOT kept: see above.');
  process.exitCode = kept ? 0 : 1;
} else {
  process.stderr.write(`${read.why}\n`);
  process.exitCode = 2;
}
