import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { parseJson } from '@runledger/contracts/json';
import { Value } from 'typebox/value';
import { findViolation, type Found } from './simulation/find-violation.ts';
import { readOptions, type Options } from './options.ts';
import { dayPlan } from './plan/day-plan.ts';
import { runOtherCommand } from './other-commands.ts';
import { StoredPlan } from './plan/plan.ts';
import { randomPlan } from './plan/random-plan.ts';
import { Summary } from './simulation/summary.ts';
import { simulate } from './simulation/simulate.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** A test replays every plan in this folder. */
const REGRESSIONS = 'apps/simulate/test/regressions';
/** Of a day all runs and slots are compared so often. */
const COMPARE_DAY_EVERY_MS = 300_000;
const tell = (atMs: number, text: string): void =>
  print(`${(atMs / 1_000).toFixed(3).padStart(9)} s  ${text}`);

/** Whether everything was kept. */
const run = async (options: Options): Promise<boolean> => {
  if (options.day) return runDay(options, options.day);
  if (options.plan !== undefined) return runPlan(await readPlan(options.plan), options);
  const begun = performance.now();
  for (let n = 0; n < options.seeds; n += 1) {
    const seed = options.seed + n;
    if (!(await runPlan(randomPlan(seed), options))) return false;
  }
  const seconds = (performance.now() - begun) / 1_000;
  print(`${options.seeds} seeds from ${options.seed} on: nothing is violated (${seconds.toFixed(1)} s).`);
  return true;
};

const runDay = ({ seed, story }: Options, day: NonNullable<Options['day']>): boolean => {
  const plan = dayPlan({ seed, ...day });
  const summary = new Summary(plan);
  const begun = performance.now();
  const simulated = simulate(plan, {
    onResult: summary.add,
    compareEveryMs: COMPARE_DAY_EVERY_MS,
    ...(story && { tell }),
  });
  for (const line of summary.lines(simulated, performance.now() - begun)) print(line);
  const { violation } = simulated;
  if (violation) print(`VIOLATED ${violation.check} after ${violation.atMs / 1_000} s: ${violation.what}`);
  return !violation;
};

const runPlan = async (plan: StoredPlan, { story }: Options): Promise<boolean> => {
  if (story) simulate(plan, { tell });
  const found = findViolation(plan);
  if (found) await report(plan.seed, found);
  return !found;
};

const report = async (seed: number, { violation, plan, story }: Found): Promise<void> => {
  print(`Seed ${seed} violates ${violation.check}: ${violation.what}`);
  for (const line of story) print(line);
  const file = `${REGRESSIONS}/${violation.check.replaceAll('_', '-')}-${seed}.json`;
  await mkdir(REGRESSIONS, { recursive: true });
  await writeFile(file, `${JSON.stringify(plan, undefined, 2)}\n`);
  print(`Its plan is in ${file}, which npm test replays from now on.`);
  print(`Repeat it with: npm run simulate -- --plan ${file}`);
};

/** @throws when the file has no plan */
const readPlan = async (file: string): Promise<StoredPlan> => {
  const plan = parseJson(await readFile(file, 'utf8'));
  if (Value.Check(StoredPlan, plan)) return plan;
  const [first] = Value.Errors(StoredPlan, plan);
  throw new Error(`${file} has no plan: ${first?.instancePath ?? ''} ${first?.message ?? 'it is not JSON'}`);
};

const runReadOptions = async (args: readonly string[]): Promise<number> => {
  const read = readOptions(args);
  if (read.ok) return (await run(read.options)) ? 0 : 1;
  process.stderr.write(`${read.why}\n`);
  return 2;
};

const args = process.argv.slice(2);
process.exitCode = (await runOtherCommand(args, print)) ?? (await runReadOptions(args));
