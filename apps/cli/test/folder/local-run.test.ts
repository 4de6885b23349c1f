import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { codeFolder, writeFiles } from '../fixtures/code-folder.ts';
import { EXAMPLES, localEnvironment, runFolder } from '../fixtures/local-folders.ts';
import { runCli, startCli } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const env = localEnvironment();
const text = (value: string): object => ({ data: { text: [value] } });
const toml = (more: string): string => `name = "local"\ngpu = "CPU"\n${more}\n`;

describe('a local run', () => {
  it('has secrets from the environment, or else from .env of the folder, and one without a value is named', async () => {
    const folder = temporaryFolder();
    cpSync(join(EXAMPLES, 'secrets'), folder, { recursive: true });
    expect(await runCli(['run', folder, '--local'], { env })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('secrets without a value here: A_TOKEN. Set this variable'),
    });
    writeFileSync(join(folder, '.env'), 'A_TOKEN="of the file"\nOTHER=1\n');
    const said = (characters: number): object => text(`The token has ${characters} characters.`);
    expect(await runFolder({ folder, inputs: [], env })).toMatchObject(said('of the file'.length));
    const given = { ...env, A_TOKEN: 'given' };
    expect(await runFolder({ folder, inputs: [], env: given })).toMatchObject(said('given'.length));
  }, 60_000);

  it('has a model that is a file of this machine, as it is now, and not in its code', async () => {
    const folder = codeFolder({
      'runledger.toml': toml('run = "read.mjs:read"\n[models]\n"sub/w.txt" = { path = "weights/w.txt" }'),
      'read.mjs': `import { existsSync, readFileSync } from 'node:fs';
export const read = () => readFileSync(process.env.RUNLEDGER_MODELS + '/sub/w.txt', 'utf8') + existsSync('weights');
`,
    });
    for (const words of ['own weights, ', 'other ones, ']) {
      writeFiles(folder, { 'weights/w.txt': words });
      const run = await runFolder({ folder, inputs: [], env });
      expect(run, run.stderr).toMatchObject(text(`${words}false`));
    }
    rmSync(join(folder, 'weights'), { recursive: true });
    expect(await runCli(['run', folder, '--local'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('weights/w.txt'),
    });
  }, 60_000);

  it('gets files of this machine, and leaves its own in the folder of --output', async () => {
    const folder = codeFolder({
      'runledger.toml': toml('run = "copy.mjs:copy"\n[inputs]\nfile = { type = "file", required = true }'),
      'copy.mjs': `import { copyFileSync } from 'node:fs';
export const copy = ({ file }, { inputDir, outputDir }) => copyFileSync(inputDir + '/' + file, outputDir + '/copy.txt');
`,
    });
    const file = join(temporaryFolder(), 'words.txt');
    writeFileSync(file, 'some words');
    const run = await runFolder({ folder, inputs: [`file=@${file}`], env });
    expect(run, run.stderr).toMatchObject({ status: 'success', files: [join(run.output, 'copy.txt')] });
    expect(readFileSync(join(run.output, 'copy.txt'), 'utf8')).toBe('some words');
  }, 60_000);

  it('is refused with inputs that do not fit, and nothing begins', async () => {
    const cache = temporaryFolder();
    const args = ['run', join(EXAMPLES, 'node'), '--local', '--input', 'a=x', '--input', 'b=1.5'];
    const { code, stderr } = await runCli(args, { env: { ...env, XDG_CACHE_HOME: cache } });
    expect([code, stderr]).toEqual([
      2,
      'The inputs do not fit:\n  a: Send a whole number\n  b: Send a whole number\n',
    ]);
    expect(readdirSync(cache)).toEqual([]);
  });

  it('that fails says why, and the command ends with 1', async () => {
    const folder = codeFolder({
      'runledger.toml': toml('run = "wrong.mjs:wrong"'),
      'wrong.mjs': 'export const wrong = () => { throw new Error("no such word"); };\n',
    });
    const run = await runFolder({ folder, inputs: [], env });
    expect(run).toMatchObject({
      code: 1,
      status: 'failed',
      error: { message: expect.stringContaining('no such word') },
    });
  }, 60_000);

  it('ends with Ctrl-C, and leaves nothing', async () => {
    const cache = temporaryFolder();
    const folder = codeFolder({
      'runledger.toml': toml('run = "slow.mjs:slow"'),
      'slow.mjs':
        'export const slow = () => { console.log("begun"); return new Promise((done) => setTimeout(done, 600_000)); };\n',
    });
    const options = { env: { ...env, XDG_CACHE_HOME: cache, EXECUTOR_CANCEL_GRACE_S: '0.1' } };
    const run = startCli(['run', folder, '--local'], options);
    await vi.waitUntil(() => run.stderr().includes('begun'), { timeout: 30_000, interval: 20 });
    run.interrupt();
    expect(await run.ended).toMatchObject({ code: 130 });
    expect(readdirSync(join(cache, 'runledger/run-local')).toSorted()).toEqual(
      expect.not.arrayContaining([expect.stringMatching(/^(?:tmp-|attempt-)/)]),
    );
    expect(existsSync(join(cache, 'runledger/run-local/prepared'))).toBe(true);
  }, 60_000);

  it('needs --local', async () => {
    expect(await runCli(['run', '.'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('runledger run --local FOLDER'),
    });
  });
});
