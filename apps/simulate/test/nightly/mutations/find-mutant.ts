/**
 * `node find-mutant.ts FILE TEXT INSTEAD CHECK SEED SEEDS` replaces a text of a source file while it is loaded, and plays this seed, then all
 * seeds from 0 on, until one violates the check. It prints the seed as JSON. The file itself stays as it is.
 */
import { replaceInSource } from '@runledger/testing/replace-in-source';

const [file = '', text = '', instead = '', check = '', seed = '', seeds = ''] = process.argv.slice(2);
const hasReplaced = replaceInSource(file, text, instead);

const { randomPlan } = await import('../../../src/plan/random-plan.ts');
const { simulate } = await import('../../../src/simulation/simulate.ts');
hasReplaced();

const all = Array.from({ length: Number(seeds) }, (_, n) => n);
const found = [Number(seed), ...all].find((one) => simulate(randomPlan(one)).violation?.check === check);
process.stdout.write(JSON.stringify({ seed: found }));
