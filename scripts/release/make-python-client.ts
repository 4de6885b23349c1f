/** `npm run client:python` writes the generated modules of packages/client-python from docs/openapi.json. */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePythonEnvironment } from '@runledger/local-servers/python';
import { runCommand } from '@runledger/local-servers/run-command';

const ROOT = join(import.meta.dirname, '..', '..');
const CLIENT = join(ROOT, 'packages', 'client-python');
const TOOLS = join(CLIENT, 'tools');

await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-client-'));
const { python, pip } = await makePythonEnvironment('The generator', folder.path, process.env);
await pip(['install', '--quiet', '--only-binary=:all:', '-r', join(TOOLS, 'requirements.txt')]);
const args = [join(ROOT, 'docs', 'openapi.json'), join(CLIENT, 'src', 'runledger', 'generated')];
const made = await runCommand(python, [join(TOOLS, 'generate.py'), ...args], {
  env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  withinMs: 300_000,
});
if (!made.ok) {
  console.error(made.why);
  process.exitCode = 1;
}
