import { execFile, execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { removeTree } from '../../../src/folders/remove-tree.ts';
import { asOwner, isRoot, OWNER } from '../../fixtures/ordinary-owner.ts';
import { start, temporaryFolder } from '../../runners/program/run-a-program.ts';

const shell = (folder: string, script: string): void => {
  execFileSync('/bin/sh', ['-c', script], { cwd: folder });
};

/** 30,000 bytes of names, one below the other: a shell would go by paths. */
const MAKE_DEEP = `const fs = require("fs"); for (let i = 0; i < 300; i += 1) { fs.mkdirSync("d".repeat(100)); process.chdir("d".repeat(100)); } fs.writeFileSync("end", "")`;
const DEEP = `'${process.execPath}' -e '${MAKE_DEEP}'`;

const TREES: readonly (readonly [what: string, script: string])[] = [
  [
    'folders that nobody may list or write',
    'mkdir -p a/b/c && echo x > a/b/c/f && chmod 000 a/b/c a/b && chmod 555 a',
  ],
  ['a read-only folder', 'mkdir a && echo x > a/f && chmod 555 a'],
  ['a tree deeper than a path may be long', DEEP],
  ['a deep tree that nobody may list', `${DEEP}; chmod 000 *`],
  ['pipes, links and sparse files', 'mkfifo pipe; ln -s /etc etc; truncate -s 1T sparse; chmod 000 sparse'],
  ['names of control characters', `printf x > "$(printf 'a\\nb\\033[31m')"; mkdir "$(printf 'c\\td')"`],
];

describe('what a program leaves in its folders', () => {
  it.each(TREES)('is removed at the start of an executor of an ordinary user: %s', async (_what, script) => {
    const folder = temporaryFolder();
    const left = join(folder, 'attempt-1-outputs');
    mkdirSync(left);
    shell(left, script);
    shell(folder, 'chmod 000 attempt-1-outputs');
    expect(await asOwner('open', folder)).toMatchObject({ logged: [{ folders: 1 }] });
    expect(readdirSync(folder)).toEqual(['owner']);
  });

  it.each(TREES)('is removed at the end of its run: %s', async (_what, script) => {
    const folder = join(temporaryFolder(), 'outputs');
    mkdirSync(folder);
    shell(folder, script);
    const warnings: object[] = [];
    await removeTree(folder, { ...silentLogger, warn: (fields) => void warnings.push(fields) });
    expect([existsSync(folder), warnings]).toEqual([false, []]);
  });

  it('in place of the file that says whose the work folder is, does not keep an executor from starting', async () => {
    const folder = temporaryFolder();
    shell(folder, 'mkdir owner && echo x > owner/f && chmod 000 owner && chmod 500 .');
    await asOwner('open', folder);
    expect(lstatSync(join(folder, 'owner')).isFile()).toBe(true);
  });

  it.runIf(isRoot)('and cannot be removed, is named in a warning, and the executor starts', async () => {
    const folder = temporaryFolder();
    shell(folder, 'mkdir -p attempt-1-outputs attempt-2-outputs');
    const foreign = join(folder, 'attempt-1-outputs');
    shell(folder, `chown -R ${OWNER} .`);
    shell(foreign, 'mkdir a && touch a/f');
    // As after a program with rights that the executor does not have.
    const script = join(import.meta.dirname, '../../fixtures/as-owner.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [script, 'open', folder], {
      uid: OWNER,
      gid: OWNER,
      cwd: '/',
    });
    expect(JSON.parse(stdout)).toMatchObject({ logged: [{ path: foreign }, { folders: 2 }] });
    expect(readdirSync(folder)).toEqual(['attempt-1-outputs', 'owner']);
  });

  it('is removed as a link, and not what the link names', async () => {
    const [kept, folder] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(join(kept, 'file'), 'x');
    const link = join(folder, 'outputs');
    shell(folder, `ln -s ${kept} outputs`);
    await removeTree(link, silentLogger);
    expect([existsSync(link), readFileSync(join(kept, 'file'), 'utf8')]).toEqual([false, 'x']);
  });
});

const IN_OUTPUTS = 'cd "$RUNLEDGER_OUTPUT_DIR" && ';

describe('what a program leaves as its outputs', () => {
  it.each([
    ['a link', 'cd / && rmdir "$RUNLEDGER_OUTPUT_DIR" && ln -s /etc "$RUNLEDGER_OUTPUT_DIR"'],
    ['a file', 'cd / && rmdir "$RUNLEDGER_OUTPUT_DIR" && echo x > "$RUNLEDGER_OUTPUT_DIR"'],
    ['a pipe', 'cd / && rmdir "$RUNLEDGER_OUTPUT_DIR" && mkfifo "$RUNLEDGER_OUTPUT_DIR"'],
  ])('fails its run when the folder itself is %s, and nothing is read', async (_what, script) => {
    const { result } = await start(script);
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'invalid_output',
        retryable: false,
        message: expect.stringContaining('its output folder is lost'),
      },
      files: [],
    });
  });

  it('is only regular files: what is no data, the log of the run names', async () => {
    const things = 'mkfifo pipe; echo x > kept';
    const device = isRoot ? '; mknod device c 1 5' : '';
    const { result, lines } = await start(`${IN_OUTPUTS}${things}${device}`);
    expect(await result).toMatchObject({ outcome: 'succeeded', files: [{ filename: 'kept' }] });
    const named = ['pipe', ...(isRoot ? ['device'] : [])];
    expect(lines.map(({ line }) => line).sort()).toEqual(
      named.map((name) => `${name} is not an output: it is neither a regular file nor a folder`).sort(),
    );
  });

  it.each([
    ['a link to a file', 'ln -s /etc/passwd lost'],
    ['a link to a folder', 'ln -s /etc lost'],
    ['a link to nothing', 'ln -s nothing lost'],
    ['a link to another output', 'mkdir a; echo x > a/b; ln -s a/b lost'],
  ])('fails its run for %s, which is named', async (_what, script) => {
    const { result, lines } = await start(`${IN_OUTPUTS}${script}; echo x > kept`);
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'invalid_output',
        retryable: false,
        message: expect.stringContaining('its output lost is lost: it is a link, and links are not stored'),
      },
      files: expect.arrayContaining([expect.objectContaining({ filename: 'kept' })]),
    });
    expect(lines).toEqual([
      { stream: 'runner', line: expect.stringContaining('lost is not an output: it is a link') },
    ]);
  });

  it('is at most 500 files: a run with more fails with both numbers, and keeps the first ones', async () => {
    const { result } = await start(`${IN_OUTPUTS}for n in $(seq 1001 1501); do : > $n; done`);
    const ended = await result;
    expect(ended).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'output_too_large',
        message: expect.stringContaining('it left 501 files, and a run may have 500 output files'),
      },
      files: { length: 500 },
    });
    expect('files' in ended && ended.files.at(-1)?.filename).toBe('1500');
  });

  it.each([
    [
      'a control character',
      'a\\nb',
      'a\\u{a}b is not an output: its name holds control characters or is not valid Unicode',
    ],
    [
      'a mark that reverses text',
      'a\\342\\200\\256gnp.exe',
      'a\\u{202e}gnp.exe is not an output: its name holds marks that change the direction of text',
    ],
  ])('has no names with %s', async (_what, name, said) => {
    const { result, lines } = await start(`${IN_OUTPUTS}echo x > "$(printf '${name}')"`);
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'invalid_output', message: expect.stringContaining('its name holds') },
      files: [],
    });
    expect(lines).toEqual([{ stream: 'runner', line: said }]);
  });

  it('fails its run when it is deeper than outputs are kept', async () => {
    const { result, lines } = await start(
      `${IN_OUTPUTS}mkdir -p 1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18`,
    );
    expect(await result).toMatchObject({
      outcome: 'failed',
      error: { message: expect.stringContaining('it lies deeper than 16 folders') },
      files: [],
    });
    expect(lines).toEqual([
      { stream: 'runner', line: expect.stringContaining('it lies deeper than 16 folders') },
    ]);
  });

  it('cannot be read by an executor of an ordinary user: the program is told', async () => {
    const folder = temporaryFolder();
    shell(folder, 'mkdir a && echo x > a/f && echo x > g && chmod 000 a/f');
    expect(await asOwner('collect', folder)).toMatchObject({
      result: { files: [{ filename: 'g' }], refused: [{ path: 'a/f', why: 'it cannot be read (EACCES)' }] },
    });
    shell(folder, 'chmod 000 a');
    expect(await asOwner('collect', folder)).toMatchObject({ result: { refused: [{ path: 'a' }] } });
  });
});
