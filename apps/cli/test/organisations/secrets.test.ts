import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { codeFolder, PREDICT } from '../fixtures/code-folder.ts';
import { aCatalogue } from '../fixtures/real-catalogue.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const { cli, json, read } = aCatalogue();
const VALUE = 'hf_a-secret-value';

describe('runledger secrets', () => {
  it('sets a secret from standard input, a prompt or a file, and shows names only', async () => {
    expect((await cli(['secrets', 'list'])).stdout).toBe('');
    const set = await cli(['secrets', 'set', 'HF_TOKEN'], { stdin: `${VALUE}\n` });
    expect(set).toEqual({
      code: 0,
      stdout: 'The secret HF_TOKEN is set. The next runs get it.\n',
      stderr: '',
    });
    const asked = await cli(['secrets', 'set', 'ASKED', '--json'], { answer: VALUE });
    expect(asked.stderr).toBe('Value of ASKED (it is not shown): \n');
    const file = join(temporaryFolder(), 'key.pem');
    writeFileSync(file, `${VALUE}\n`);
    expect(await json(['secrets', 'set', 'PEM', '--from-file', file])).toMatchObject({ name: 'PEM' });
    const listed = await cli(['secrets', 'list']);
    expect(listed.stdout).toMatch(/^NAME .*\nASKED .*\nHF_TOKEN .*\nPEM .*\n$/);
    for (const { stdout, stderr } of [set, asked, listed]) expect(stdout + stderr).not.toContain(VALUE);
    expect((await cli(['secrets', 'remove', 'ASKED'])).stdout).toBe('The secret ASKED is removed.\n');
    expect(await cli(['secrets', 'remove', 'ASKED'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Secret not found'),
    });
    expect((await read('/secrets')).secrets.map(({ name }: { name: string }) => name)).toEqual([
      'HF_TOKEN',
      'PEM',
    ]);
  });

  it.each<readonly [string, string, string | undefined, string]>([
    ['without a value', 'A', undefined, 'No value was given'],
    ['with one that is too long', 'A', 'x'.repeat(32_769), 'The value is too long'],
    ['with a NUL', 'A', 'a\0b', 'has a NUL'],
    ['with a name of no variable', 'A-B', VALUE, 'letters, digits and underscores'],
  ])('refuses a secret %s', async (_, name, stdin, why) => {
    const { code, stdout, stderr } = await cli(
      ['secrets', 'set', name],
      stdin === undefined ? {} : { stdin },
    );
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(why)]);
    expect(stderr).not.toContain(VALUE);
  });

  it('are asked for by a folder, and deploy says which ones are missing', async () => {
    const folder = (name: string, secrets: string): string =>
      codeFolder({
        'runledger.toml': `name = "${name}"\nrun = "predict.py:predict"\ngpu = "CPU"\n${secrets}\n`,
        'predict.py': PREDICT,
      });
    await cli(['secrets', 'set', 'KNOWN'], { stdin: 'x' });
    const cwd = folder('with-secrets', '[secrets]\nTOKEN = "MISSING_TOKEN"\nKEY = "KNOWN"');
    for (const options of [['--dry-run'], []]) {
      const { code, stderr } = await cli(['deploy', '.', ...options], { cwd });
      expect(code).toBe(0);
      expect(stderr).toContain('Set it: runledger secrets set MISSING_TOKEN');
      expect(stderr).not.toContain('secrets set KNOWN');
    }
    await cli(['secrets', 'set', 'MISSING_TOKEN'], { stdin: 'x' });
    expect((await cli(['deploy', '.'], { cwd })).stderr).not.toContain('runledger secrets set');
    const made = await cli(['deploy', '.', '--json'], { cwd: folder('listed', 'secrets = ["KNOWN"]') });
    const { workflow_id } = (await json(['deployments', 'show', 'listed'])) as unknown as {
      workflow_id: string;
    };
    const version = JSON.parse(made.stdout).version.id;
    expect((await read(`/workflows/${workflow_id}/versions/${version}`)).workflow.secrets).toEqual({
      KNOWN: 'KNOWN',
    });
  });
});
