import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { openEventLog } from '@runledger/event-log/event-log';
import type { EventLog } from '@runledger/event-log/event-log';
import { silentLogger } from '@runledger/event-log/logger';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it, onTestFinished } from 'vitest';
import type { Operator } from '../../src/data-folder/connection-files.ts';
import { openDataFolder } from '../../src/data-folder/data-folder.ts';
import type { DataFolder } from '../../src/data-folder/data-folder.ts';
import { startBroker } from '../../src/parts/broker.ts';
import { isAlive } from '../processes.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const dataFolder = async (open: AsyncDisposableStack): Promise<DataFolder> => {
  const result = await openDataFolder(temporaryFolder(), () => new Date());
  if (!result.ok) throw new Error(result.why);
  mkdirSync(result.folder.at('logs'));
  return open.use(result.folder);
};

const logOf = ({ nats_url: url, nats_user: user, nats_password: password }: Operator): Promise<EventLog> =>
  openEventLog({ url, user, password, name: 'test' }, silentLogger);

const pidOf = (folder: DataFolder): number =>
  JSON.parse(readFileSync(folder.at('processes/nats-server.json'), 'utf8')).pid;

it('a broker that was killed is back on the same port with the same data', async () => {
  await using open = new AsyncDisposableStack();
  const folder = await dataFolder(open);
  const said: string[] = [];
  const operator = await startBroker(open, folder, process.env, 'always', (line) => void said.push(line));
  expect(statSync(folder.at('operator.json')).mode & 0o777).toBe(0o600);

  const log = open.use(await logOf(operator));
  await log.jsm.streams.add({ name: 'KEPT', subjects: ['kept'] });
  await log.js.publish('kept', 'one');
  process.kill(pidOf(folder), 'SIGKILL');
  const kept = await waitFor('the stream to be back', () => log.jsm.streams.getMessage('KEPT', { seq: 1 }));
  expect(kept.string()).toBe('one');
  expect(said).toContain('nats-server ended (killed by SIGKILL). It is started again in 0.5 s.');
});

it('a broker keeps its password over starts, and lets nobody in without it', async () => {
  const folderOf = new AsyncDisposableStack();
  onTestFinished(() => folderOf.disposeAsync());
  const folder = await dataFolder(folderOf);
  const passwords: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    await using open = new AsyncDisposableStack();
    const operator = await startBroker(open, folder, process.env, 'always', () => undefined);
    passwords.push(operator.nats_password);
    await expect(logOf({ ...operator, nats_password: 'guessed' })).rejects.toThrow(/Authorization Violation/);
  }
  expect(passwords[0]).toBe(passwords[1]);
  expect(isAlive(pidOf(folder))).toBe(false);
});
