import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@runledger/local-servers/free-port';
import { IS_NIGHTLY } from '@runledger/testing/random/cases';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openNewcomer, type FirstTerminal, type Newcomer } from '../../fixtures/pages/newcomer.ts';
import {
  laidOut,
  pageOf,
  partsOf,
  replayed,
  withoutProgress,
  type Part,
} from '../../fixtures/pages/session.ts';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));
/** After a change of what the screen shows: writes the answers into the pages instead of comparing them. */
const writes = process.env['RUNLEDGER_WRITE_DOCS'] === '1';
/** Some of the packages that npm start does not install. */
const ONLY_TESTS_NEED = ['vitest', 'testcontainers', 'typescript'];
/** With the packages from the registries. */
const FOLLOWED_WITHIN_MS = 600_000;

/** What is not executed, with the reason that its page has in a comment before it. session.test.ts executes docs/run-api.md. */
const NOT_RUN: Readonly<Record<string, readonly string[]>> = {
  'README.md': [],
  'docs/run-api.md': [],
  'deploy/README.md': [
    'it needs Docker; scripts/test/system/docker-containers.test.ts runs the containers where there is one',
  ],
};

/** Where a block is not executed, its reason. */
const NOT_RUN_COMMENT = /<!-- not run: (.+) -->\s*$/;

const reasonsIn = (parts: readonly Part[]): string[] =>
  parts.flatMap((part) => (part.kind === 'text' ? [NOT_RUN_COMMENT.exec(part.text)?.[1] ?? []].flat() : []));

/** The parts of a page, with the blocks that are not executed as text. */
const runnable = (parts: readonly Part[]): Part[] =>
  parts.map((part, n) => {
    const before = parts[n - 1];
    const isMarked = before?.kind === 'text' && NOT_RUN_COMMENT.test(before.text);
    return isMarked ? { kind: 'text', text: pageOf([part]) } : part;
  });

const read = async (page: string): Promise<Part[]> =>
  partsOf(await readFile(join(ROOT, page), 'utf8')).map(laidOut);

describe('a block of shell commands', () => {
  it.each(Object.entries(NOT_RUN))('is executed, or the page says why not: %s', async (page, reasons) => {
    const parts = await read(page);
    expect(reasonsIn(parts)).toEqual(reasons);
    const texts = parts.filter(({ kind }) => kind === 'text').map(({ text }) => text);
    expect(texts.join('')).not.toMatch(/^```(?:sh|bash|shell|console)/m);
  });
});

let newcomer: Newcomer;
let terminal: FirstTerminal;

beforeAll(async () => {
  newcomer = await openNewcomer(ROOT);
}, 60_000);
afterAll(() => newcomer[Symbol.asyncDispose](), 60_000);

const isStart = (part: Part): boolean => part.kind === 'commands' && part.text.endsWith('npm start\n');

/** The parts with the answers of now. What ends with `npm start` is said in the first terminal, the rest in the second one. */
const followed = async (parts: readonly Part[]): Promise<Part[]> => {
  const at = parts.findIndex(isStart);
  const start = parts[at];
  if (start === undefined) return replayed(parts, newcomer.shell());
  const before = await replayed(parts.slice(0, at), newcomer.shell());
  const block = start.text.replace('<this repository>', newcomer.repository);
  terminal = await newcomer.start(block, block.startsWith('git clone') ? newcomer.folder : newcomer.clone);
  return [...before, start, ...(await followed(parts.slice(at + 1)))];
};

/** Whether a page shows what happened now. */
const expectAsShown = async (page: string, now: readonly Part[]): Promise<void> => {
  const text = pageOf(now).replaceAll(/127\.0\.0\.1:\d+(?=\/outputs\/)/g, '127.0.0.1:8080');
  if (writes) await writeFile(join(ROOT, page), text);
  else expect(withoutProgress(text)).toBe(withoutProgress(pageOf(await read(page))));
};

describe('a fresh clone, for a user without privileges', () => {
  it('does what README.md shows, block by block', { timeout: FOLLOWED_WITHIN_MS }, async () => {
    const now = await followed(runnable(await read('README.md')));
    await expectAsShown('README.md', now);
    const packages = await readdir(join(newcomer.clone, 'node_modules'));
    expect(packages.filter((name) => ONLY_TESTS_NEED.includes(name))).toEqual([]);
  });

  it('stops with Ctrl-C', async () => {
    await terminal.stop();
    expect(terminal.output()).toMatch(/Stopping\.\nStopped\.\n(?:npm notice.*\n)*$/);
    expect(existsSync(join(newcomer.clone, '.runledger', 'connection.json'))).toBe(false);
  });

  describeWithMongo('and their own nats-server and MongoDB', () => {
    it.runIf(IS_NIGHTLY || writes)(
      'runs each service on its own, as deploy/README.md shows',
      { timeout: FOLLOWED_WITHIN_MS },
      async () => {
        await using mongo = await testMongo();
        const [broker, api] = [await freePort(), await freePort()];
        const database = new URL(mongo.url);
        database.pathname = mongo.database;
        const here = (text: string): string =>
          text
            .replaceAll('127.0.0.1:4222', `127.0.0.1:${broker}`)
            .replaceAll('127.0.0.1:8080', `127.0.0.1:${api}`)
            .replaceAll('mongodb://127.0.0.1:27017', `'${database.href}'`);
        const parts = runnable(await read('deploy/README.md'));
        const path = `${await newcomer.natsServerFolder()}:${newcomer.shell().env['PATH']}`;
        const env = { PATH: path, RUNLEDGER_PORT: String(api), RUNLEDGER_HEALTH_PORT: '0' };
        const there = parts.map((part) =>
          part.kind === 'commands' ? { ...part, text: here(part.text) } : part,
        );
        const now = await replayed(there, newcomer.shell(env));
        await expectAsShown(
          'deploy/README.md',
          now.map((part, n) => (part.kind === 'answer' ? part : (parts[n] ?? part))),
        );
      },
    );
  });
});
