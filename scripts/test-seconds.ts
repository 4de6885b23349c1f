// The seconds and the processor time of each test file: a reporter of vitest. It keeps them for the next run, which starts the slowest files
// first, and prints the slowest.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const ROOT = join(import.meta.dirname, '..');
const KEPT = join(ROOT, '.cache', 'test-seconds.json');
const PRINTED = 15;

interface Seconds {
  readonly seconds: number;
  /** Of the worker, and of what the file started. */
  readonly processorSeconds: number;
}

/** By the path of the file from the root; nothing on a fresh clone. */
export const keptSeconds = (): Readonly<Record<string, Seconds>> =>
  existsSync(KEPT) ? (JSON.parse(readFileSync(KEPT, 'utf8')) as Record<string, Seconds>) : {};

export default class TestSeconds implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slowest = modules
      .map((module) => [relative(ROOT, module.moduleId), secondsOf(module)] as const)
      .filter(([, { seconds }]) => seconds > 0)
      .toSorted(([, a], [, b]) => b.seconds - a.seconds);
    keep(slowest);
    if (slowest.length > 1) print(slowest);
  }
}

const secondsOf = (module: TestModule): Seconds => {
  const { collectDuration, duration } = module.diagnostic();
  const processorMs = module.meta().processorMs ?? 0;
  return { seconds: rounded(collectDuration + duration), processorSeconds: rounded(processorMs) };
};

const rounded = (ms: number): number => Math.round(ms / 100) / 10;

/** A run of some files keeps what is known of the others. */
const keep = (measured: readonly (readonly [string, Seconds])[]): void => {
  const all = Object.entries({ ...keptSeconds(), ...Object.fromEntries(measured) });
  const there = all.filter(([file]) => existsSync(join(ROOT, file)));
  mkdirSync(dirname(KEPT), { recursive: true });
  writeFileSync(KEPT, `${JSON.stringify(Object.fromEntries(there), null, 2)}\n`);
};

const print = (slowest: readonly (readonly [string, Seconds])[]): void => {
  const sum = slowest.reduce((total, [, { processorSeconds }]) => total + processorSeconds, 0);
  const lines = slowest
    .slice(0, PRINTED)
    .map(
      ([file, { seconds, processorSeconds }]) =>
        `${seconds.toFixed(1).padStart(7)} s, ${processorSeconds.toFixed(1).padStart(6)} s of processor: ${file}`,
    );
  const title = `The slowest of ${slowest.length} files, which took ${Math.round(sum)} s of processor time:`;
  process.stdout.write(`\n${[title, ...lines, `All are in ${relative(ROOT, KEPT)}.`].join('\n')}\n`);
};
