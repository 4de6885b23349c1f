/**
 * `node find-mutant.ts FILE TEXT INSTEAD CHECK SEEDS` replaces a text of a source file while it is loaded, and plays seeds until one violates
 * the check. It prints the seed as JSON. The file itself stays as it is.
 */
import { replaceInSource } from '@runledger/testing/mutations/replace-in-source';

const [file = '', text = '', instead = '', check = '', seeds = ''] = process.argv.slice(2);
const hasReplaced = replaceInSource(file, text, instead);

const { randomPlan } = await import('../../../src/plan/random-plan.ts');
const { simulate } = await import('../../../src/simulation/simulate.ts');
hasReplaced();

const find = (): object => {
  for (let seed = 0; seed < Number(seeds); seed += 1) {
    if (simulate(randomPlan(seed)).violation?.check === check) return { seed };
  }
  return {};
};
process.stdout.write(JSON.stringify(find()));
