import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCli } from './fixtures/run-cli.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PAGES = globSync(
  [
    '*.md',
    'docs/*.md',
    'docs/{architecture,operations}/*.md',
    'deploy/*.md',
    '{apps,services}/*/{README,docs/*}.md',
  ],
  { cwd: ROOT },
);

/** Each `runledger …` in code, up to the end of the shell command. */
const namedIn = (page: string): string[] => {
  const text = readFileSync(`${ROOT}/${page}`, 'utf8');
  const code = [...text.matchAll(/```[^\n`]*\n([^]*?)```|`([^`\n]+)`/g)].map(
    ([, block, inline]) => block ?? inline ?? '',
  );
  return code.flatMap((part) =>
    [...part.matchAll(/(?:^|\s)runledger +([a-z-][^\n;|#&]*)/gm)].map(([, args = '']) => args),
  );
};

const help = async (path: readonly string[]): Promise<string> => (await runCli([...path, '--help'])).stdout;

const groupIn = (text: string): string[] | undefined => {
  const [, commands] = text.split('\nCommands:\n');
  return commands === undefined
    ? undefined
    : [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name);
};

/** The unknown command or option; undefined if all are known. */
const whatIsWrong = async (args: string): Promise<string | undefined> => {
  const words = args.trim().split(/\s+/);
  const path: string[] = [];
  let text = await help(path);
  for (let group = groupIn(text); group !== undefined; group = groupIn(text)) {
    const word = words[path.length] ?? '';
    // The name of a group, or an option of the program.
    if (word === '' || word.startsWith('-')) break;
    if (!group.includes(word)) return `there is no command ${[...path, word].join(' ')}`;
    path.push(word);
    text = await help(path);
  }
  const option = words.find((word) => word.startsWith('--') && !text.includes(word.split('=')[0] ?? ''));
  return option && `${path.join(' ')} has no option ${option}`;
};

describe('the commands that pages name', () => {
  it.each(PAGES.filter((page) => namedIn(page).length > 0))('exist with their options: %s', async (page) => {
    const wrong: string[] = [];
    for (const args of new Set(namedIn(page))) {
      const why = await whatIsWrong(args);
      if (why !== undefined) wrong.push(`runledger ${args}: ${why}`);
    }
    expect(wrong).toEqual([]);
  });
});
