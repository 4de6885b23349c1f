import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseJson } from '@runledger/contracts/json';
import { messageOf } from '@runledger/resilience/errors';
import { Value } from 'typebox/value';
import { PICTURES } from './pictures/pictures.ts';
import { StoredPlan } from './plan/plan.ts';
import { randomPlan } from './plan/random-plan.ts';
import { findViolation, storyLine, type Found } from './simulation/find-violation.ts';
import { simulate } from './simulation/simulate.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** A test replays every plan in this folder. */
const REGRESSIONS = 'apps/simulate/test/regressions';

const USAGE = `npm run simulate -- [--seed N] [--seeds N | --plan FILE] [--story]
  --seed    a whole number: the same seed gives the same simulation, step by step (1)
  --seeds   so many small plans with random faults, from this seed on (1)
  --plan    the plan in a file of JSON
  --story   print every fact and fault
npm run simulate -- --pictures FOLDER
  draws the pictures of docs/scheduling.md`;

/** Whether every plan kept everything; true for pictures. */
const run = async (args: readonly string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string', default: '1' },
      plan: { type: 'string' },
      story: { type: 'boolean', default: false },
      pictures: { type: 'string' },
    },
  });
  const { story, plan, pictures } = values;
  if (pictures === '') throw new RangeError('--pictures needs a folder.');
  if (pictures !== undefined) return drawPictures(pictures);
  if (plan !== undefined) return playPlan(await readPlan(plan), story);
  const [first, count] = [wholeNumber('--seed', values.seed), wholeNumber('--seeds', values.seeds)];
  const begun = performance.now();
  for (let seed = first; seed < first + count; seed += 1)
    if (!(await playPlan(randomPlan(seed), story))) return false;
  const seconds = (performance.now() - begun) / 1_000;
  print(`${count} seeds from ${first} on: nothing is violated (${seconds.toFixed(1)} s).`);
  return true;
};

const playPlan = async (plan: StoredPlan, story: boolean): Promise<boolean> => {
  if (story) simulate(plan, { tell: (atMs, text) => print(storyLine(atMs, text)) });
  const found = findViolation(plan);
  if (found) await report(plan.seed, found);
  return !found;
};

const report = async (seed: number, { violation, plan, story }: Found): Promise<void> => {
  print(`Seed ${seed} violates ${violation.check}: ${violation.what}`);
  for (const line of story) print(line);
  const file = `${REGRESSIONS}/${violation.check}-${seed}.json`;
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

const wholeNumber = (name: string, text: string): number => {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new RangeError(`${name} is ${text}. It must be a whole number from 0 to 999999999.`);
};

const drawPictures = async (folder: string): Promise<true> => {
  await mkdir(folder, { recursive: true });
  for (const [name, draw] of PICTURES) {
    await writeFile(join(folder, name), draw());
    print(`Drew ${join(folder, name)}`);
  }
  return true;
};

try {
  process.exitCode = (await run(process.argv.slice(2))) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n${USAGE}\n`);
  process.exitCode = 2;
}
