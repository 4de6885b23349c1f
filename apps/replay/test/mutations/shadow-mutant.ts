/**
 * `node shadow-mutant.ts FILE TEXT INSTEAD [SLICE]` replaces a text of a source file while it is loaded, and shadows the scheduler over the sample, or the notifier over
 * a slice. It
 * prints as JSON how many decisions differ, and how many cannot be compared: without the mutation there are none. The file itself stays as it is.
 */
import { registerHooks } from 'node:module';

const [file = '', text = '', instead = '', slice] = process.argv.slice(2);
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

const { sampleOptions, shadowed } = await import('../fixtures/sample-slice.ts');
const { notifiedOptions } = await import('../fixtures/notified-slice.ts');
const { compared, differences } = await shadowed(slice ? notifiedOptions(slice) : await sampleOptions());
if (replaced !== 1) throw new Error(`the text occurs ${replaced} times in ${file}: change the mutation`);
const notCompared = [...compared.notCompared.values()].reduce((sum, n) => sum + n, 0);
process.stdout.write(JSON.stringify({ differences: differences.length, notCompared }));
