import { readOptions } from './options.ts';
import { soak } from './soak.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const newSeed = (): number => Math.floor(Math.random() * 2 ** 31);

/** What a shell reports for a program that Ctrl-C ended. */
const EXIT_INTERRUPTED = 130;

const read = readOptions(process.argv.slice(2), newSeed);
if (read.ok) {
  const { options } = read;
  print(`Seed ${options.seed}. Repeat it with: ${options.command}`);
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort());
  try {
    const { passed, report } = await soak(options, {
      env: process.env,
      print,
      interrupted: interruption.signal,
    });
    print(report);
    print(
      passed ? 'Every guarantee was kept.' : 'A guarantee was VIOLATED, or not put to the test: see above.',
    );
    process.exitCode = passed ? 0 : 1;
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    print('The soak was interrupted. All its processes have ended.');
    // Clients and faults that are still scheduled have nothing to work with.
    process.exit(EXIT_INTERRUPTED);
  }
} else {
  process.stderr.write(`${read.why}\n`);
  process.exitCode = 2;
}
