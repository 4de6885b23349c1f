/**
 * `node shadow-mutant.ts FILE TEXT INSTEAD [SLICE]` replaces a text of a source file while it is loaded, and shadows the scheduler over the
 * sample, or the notifier over a slice. It prints as JSON how many decisions differ, and how many cannot be compared: without the mutation
 * there are none. The file itself stays as it is.
 */
import { replaceInSource } from '@runledger/testing/mutations/replace-in-source';

const [file = '', text = '', instead = '', slice] = process.argv.slice(2);
const hasReplaced = replaceInSource(file, text, instead);

const { sampleOptions, shadowed } = await import('../fixtures/sample-slice.ts');
const { notifiedOptions } = await import('../fixtures/notified-slice.ts');
const { compared, differences } = await shadowed(slice ? notifiedOptions(slice) : await sampleOptions());
hasReplaced();
const notCompared = [...compared.notCompared.values()].reduce((sum, n) => sum + n, 0);
process.stdout.write(JSON.stringify({ differences: differences.length, notCompared }));
