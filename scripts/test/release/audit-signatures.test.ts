import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../deploy/workspaces.ts';

const PROGRAM = `import('./scripts/audit-signatures.mjs').then(({ signaturesAreRight }) =>
  console.log(signaturesAreRight()))`;

/** What CI prints when `npm audit signatures` prints this, and whether it is content. */
const printed = async (answer: string): Promise<string> => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-signatures-'));
  await writeFile(join(folder.path, 'npm'), `#!/bin/sh\ncat <<'END'\n${answer}\nEND\nexit 1\n`, {
    mode: 0o755,
  });
  const env = { PATH: [folder.path, process.env['PATH']].join(delimiter) };
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', PROGRAM], { cwd: ROOT, env });
  return stdout;
};

describe('the check of signatures in CI', () => {
  it('passes if all are right', async () => {
    expect(await printed('{"invalid": [], "missing": []}')).toMatch(/^ok .*\ntrue\n$/);
  });

  it.each(['invalid', 'missing'])('fails for a signature that is %s, and names the package', async (list) => {
    const answer = { invalid: [], missing: [], [list]: [{ name: 'koa', version: '3.3.0' }] };
    expect(await printed(JSON.stringify(answer))).toMatch(/^FAILED .*\n {2}koa 3\.3\.0\nfalse\n$/);
  });

  it('says why it is skipped where npm cannot ask for the keys', async () => {
    const answer = { error: { code: 'ENOTFOUND', summary: 'getaddrinfo ENOTFOUND keys.example.com' } };
    expect(await printed(JSON.stringify(answer))).toMatch(/^skipped .*: getaddrinfo ENOTFOUND.*\ntrue\n$/);
  });
});
