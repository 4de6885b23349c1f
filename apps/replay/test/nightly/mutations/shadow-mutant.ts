/**
 * `node shadow-mutant.ts FILE TEXT INSTEAD` replaces a text of a source file while it is loaded, and shadows the scheduler over the
 * sample. It prints as JSON how many decisions differ, and how many cannot be compared: without the mutation there are none. The
 * file itself stays as it is.
 */
import { replaceInSource } from '@runledger/testing/replace-in-source';

const [file = '', text = '', instead = ''] = process.argv.slice(2);
const hasReplaced = replaceInSource(file, text, instead);

const { sampleOptions, shadowed } = await import('../../fixtures/sample-slice.ts');
const { compared, differences } = await shadowed(await sampleOptions());
hasReplaced();
const notCompared = [...compared.notCompared.values()].reduce((sum, n) => sum + n, 0);
process.stdout.write(JSON.stringify({ differences: differences.length, notCompared }));
