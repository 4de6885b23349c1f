import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { startDatabase } from '../../../src/components/database.ts';
import type { DataFolder } from '../../../src/data-folder/data-folder.ts';
import { pathWithMongod } from '../../fixtures/a-mongod.ts';
import { held } from '../../fixtures/opened-folder.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

/** Why the collections cannot be read; undefined when they can. */
const whyNot = async ({ href }: URL): Promise<string | undefined> => {
  await using client = new MongoClient(href, { serverSelectionTimeoutMS: 5_000 });
  try {
    await client.db('runledger').collection('runs').findOne();
    return undefined;
  } catch (error) {
    return String(error);
  }
};

/** The password of the mongod that is started, and used meanwhile. */
const withMongod = async (
  folder: DataFolder,
  PATH: string,
  use: (url: URL) => Promise<void>,
): Promise<string> => {
  await using open = new AsyncDisposableStack();
  const stopping = new AbortController().signal;
  const env = { ...process.env, PATH };
  const views = await startDatabase(open, folder, {
    env,
    given: undefined,
    print: () => undefined,
    stopping,
  });
  if (views.kind !== 'mongod') throw new Error(`The views are kept by ${views.kind}.`);
  const url = new URL(views.url);
  await use(url);
  return url.password;
};

it('a mongod from PATH does what the one user with the password wants, and nothing for anybody else', async () => {
  const PATH = await pathWithMongod();
  const folder = await held(temporaryFolder());
  mkdirSync(folder.at('logs'));
  const first = await withMongod(folder, PATH, async (url) => {
    expect(await whyNot(url)).toBeUndefined();
    const wrong = new URL(url);
    wrong.password = 'a-wrong-one';
    expect(await whyNot(wrong)).toMatch(/authentication failed/i);
    const nobody = new URL(url);
    nobody.username = '';
    nobody.password = '';
    nobody.searchParams.delete('authSource');
    expect(await whyNot(nobody)).toMatch(/requires authentication|not authorized/i);
  });
  const file = folder.at('mongod/password');
  expect([readFileSync(file, 'utf8').trim(), statSync(file).mode & 0o777]).toEqual([first, 0o600]);
  const second = await withMongod(folder, PATH, async (url) => expect(await whyNot(url)).toBeUndefined());
  expect(second).toBe(first);
});
