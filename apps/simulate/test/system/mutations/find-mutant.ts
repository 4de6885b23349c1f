/**
 * `node find-mutant.ts FILE TEXT INSTEAD CHECK SEEDS` replaces a text of a source file while it is loaded, and plays seeds until one violates
 * the check. It prints the seed as JSON. The file itself stays as it is.
 */
import { registerHooks } from 'node:module';

const [file = '', text = '', instead = '', check = '', seeds = ''] = process.argv.slice(2);
let replaced = 0;

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    if (!url.endsWith(`/${file}`)) return loaded;
    if (typeof loaded.source !== 'string' && !(loaded.source instanceof Uint8Array)) return loaded;
    const parts = Buffer.from(loaded.source).toString().split(text);
    replaced += parts.length - 1;
    return { ...loaded, source: parts.join(instead) };
  },
});

const { randomPlan } = await import('../../../src/plan/random-plan.ts');
const { simulate } = await import('../../../src/simulation/simulate.ts');
if (replaced !== 1) throw new Error(`the text occurs ${replaced} times in ${file}: change the mutation`);

const find = (): object => {
  for (let seed = 0; seed < Number(seeds); seed += 1) {
    if (simulate(randomPlan(seed)).violation?.check === check) return { seed };
  }
  return {};
};
process.stdout.write(JSON.stringify(find()));
