import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '@runledger/service-kit/program-file';
import { describe, expect, it } from 'vitest';
import { completionScript, type Shell } from '../../src/completion/completion.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const MAIN = programFile(fileURLToPath(new URL('../../src/main.ts', import.meta.url)));

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

/** A folder for PATH with a `runledger` that answers this, and notes its arguments, one a line; or the real command. */
const aRunledger = (answer?: string) => {
  const folder = temporaryFolder();
  const noted = join(folder, 'arguments');
  const script =
    answer === undefined
      ? `exec '${process.execPath}' '${MAIN}' "$@"`
      : `printf '%s\\n' "$@" > '${noted}'\ncat <<'END'\n${answer}\nEND`;
  writeFileSync(join(folder, 'runledger'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'runledger'), 0o755);
  return { folder, noted };
};

/** What bash would insert. `words` are the line as bash divides it. */
const inBash = (line: string, words: readonly string[], answer?: string) => {
  const { folder, noted } = aRunledger(answer);
  const file = join(folder, 'completion');
  writeFileSync(file, completionScript('bash'));
  const program = `
    source '${file}'
    COMP_LINE=$1; COMP_POINT=\${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _runledger
    ((\${#COMPREPLY[@]} == 0)) || printf '%s\\n' "\${COMPREPLY[@]}"
    [[ ! -f '${noted}' ]] || { echo ---; cat '${noted}'; }`;
  const env = { PATH: `${folder}:/usr/bin:/bin`, HOME: folder };
  const { stdout } = spawnSync('bash', ['--norc', '-c', program, 'bash', line, ...words], {
    env,
    encoding: 'utf8',
  });
  const [replies = '', passed = ''] = stdout.split('---\n');
  return { replies: replies.split('\n').slice(0, -1), passed: passed.split('\n').slice(0, -1) };
};

describe('the script for bash', () => {
  it('completes commands of the program', () => {
    expect(inBash('runledger runs l', ['runledger', 'runs', 'l']).replies).toEqual(['list']);
  });

  it('passes each word whole, without its quotes, and evaluates none', () => {
    const line = `runledger queue --tag a:1 --input 'x=$(touch "$HOME/no")' --deployment `;
    const words = [
      'runledger',
      'queue',
      '--tag',
      'a',
      ':',
      '1',
      '--input',
      `'x=$(touch "$HOME/no")'`,
      '--deployment',
      '',
    ];
    expect(inBash(line, words, 'words').passed).toEqual([
      'complete',
      '--',
      'queue',
      '--tag',
      'a:1',
      '--input',
      'x=$(touch $HOME/no)',
      '--deployment',
      '',
    ]);
  });

  it('quotes what it inserts, unless a quote is open', () => {
    const answer = 'words\nstudio $one\tcreated now';
    expect(
      inBash('runledger machines show st', ['runledger', 'machines', 'show', 'st'], answer).replies,
    ).toEqual(['studio\\ \\$one']);
    expect(
      inBash(`runledger machines show "st`, ['runledger', 'machines', 'show', '"st'], answer).replies,
    ).toEqual(['studio $one']);
  });

  it.each([
    ['--status=', ['--status', '='], 'words\n--status=failed\t', ['failed']],
    ['--status=f', ['--status', '=', 'f'], 'words\n--status=failed\t', ['failed']],
    ['a:b:c', ['a', ':', 'b', ':', 'c'], 'words\na:b:cd\t', ['cd']],
  ])('replaces what follows the last divider of %s', (word, parts, answer, replies) => {
    expect(inBash(`runledger x ${word}`, ['runledger', 'x', ...parts], answer).replies).toEqual(replies);
  });

  it('leaves files to the shell', () => {
    expect(inBash('runledger deploy ', ['runledger', 'deploy', ''], 'files').replies).toEqual([]);
  });
});

describe.skipIf(!isInstalled('zsh'))('the script for zsh', () => {
  it('is loaded by the completion system', () => {
    const file = join(aRunledger('words').folder, 'completion');
    writeFileSync(file, completionScript('zsh'));
    const program = `autoload -U compinit; compinit -u -D; source '${file}'; print $_comps[runledger]`;
    expect(spawnSync('zsh', ['-f', '-c', program], { encoding: 'utf8' })).toMatchObject({
      stdout: '_runledger\n',
    });
  });
});

describe.skipIf(!isInstalled('fish'))('the script for fish', () => {
  it('completes what the program answers', () => {
    const { folder } = aRunledger('words\nlist\tlist runs');
    const file = join(folder, 'completion');
    writeFileSync(file, completionScript('fish'));
    const env = { PATH: `${folder}:/usr/bin:/bin`, HOME: folder };
    const program = `source '${file}'; complete -C 'runledger runs l'`;
    expect(spawnSync('fish', ['-N', '-c', program], { env, encoding: 'utf8' })).toMatchObject({
      stdout: 'list\tlist runs\n',
    });
  });
});
