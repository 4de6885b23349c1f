import { readOptions } from './parameters/options.ts';
import { soak } from './soak.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const newSeed = (): number => Math.floor(Math.random() * 2 ** 31);

/** As a shell tells of a program that was ended by Ctrl-C. */
const EXIT_GIVEN_UP = 130;

const read = readOptions(process.argv.slice(2), newSeed);
if (read.ok) {
  const { options } = read;
  say(`Seed ${options.seed}. The same again: ${options.command}`);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  try {
    const { kept, report } = await soak(options, { env: process.env, say, stopping: stopping.signal });
    say(report);
    say(kept ? 'Every guarantee was kept.' : 'A guarantee was NOT kept: see above.');
    process.exitCode = kept ? 0 : 1;
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    say('The soak was given up, and what it started is ended.');
    // Clients and blows that are left would go on into nothing.
    process.exit(EXIT_GIVEN_UP);
  }
} else {
  process.stderr.write(`${read.why}\n`);
  process.exitCode = 2;
}
