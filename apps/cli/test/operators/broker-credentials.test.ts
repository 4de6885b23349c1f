import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import { operatorUser } from '@runledger/broker-access/broker-user';
import { newUserKey } from '@runledger/event-log/connect/user-key';
import { testNats } from '@runledger/testing/servers/nats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cliWith } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const key = newUserKey();
const opened = new AsyncDisposableStack();
let url: string;
beforeAll(async () => {
  const authorization = brokerConfiguration([{ user: operatorUser(), publicKey: key.publicKey }]);
  ({ url } = opened.use(await testNats({ authorization })));
});
afterAll(() => opened.disposeAsync());

const fileWith = (text: string): string => {
  const file = join(temporaryFolder(), 'operator.nkey');
  writeFileSync(file, text);
  return file;
};

it('the key of an operator comes from the data folder of the standalone', async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, '.runledger'));
  const file = join(cwd, '.runledger', 'operator.json');
  writeFileSync(file, JSON.stringify({ nats_url: url, nats_nkey: key.seed }));
  expect(await cliWith({})(['provision'], { cwd })).toMatchObject({ code: 0 });

  // Without a member that it needs.
  writeFileSync(file, JSON.stringify({ nats_url: url, nats_user: 'runledger', nats_password: 'secret' }));
  const { code, stderr } = await cliWith({})(['provision'], { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining(`${file} cannot be used`)]);
});

describe('the key file of an operator', () => {
  it.each(['RUNLEDGER_NATS', 'NATS'])('opens the log for all commands, as %s_NKEY_FILE', async (prefix) => {
    const cli = cliWith({ [`${prefix}_URL`]: url, [`${prefix}_NKEY_FILE`]: fileWith(`${key.seed}\n`) });
    expect(await cli(['provision'])).toMatchObject({ code: 0 });
    expect(await cli(['organisations', 'create', 'Acme'])).toMatchObject({ code: 0 });
    expect((await cli(['organisations', 'list'])).stdout).toContain('Acme');
    expect(await cli(['dead-letters', 'list'])).toMatchObject({
      code: 0,
      stderr: 'No dead letter matches.\n',
    });
  });

  it.each([
    ['the key of another user', newUserKey().seed, "refused the operator's credentials"],
    ['no key', 'SUnot-a-key', "refused the operator's credentials"],
  ])('is refused if it is %s, and not quoted', async (_which, text, sentence) => {
    const cli = cliWith({ RUNLEDGER_NATS_URL: url, RUNLEDGER_NATS_NKEY_FILE: fileWith(text) });
    const { code, stderr } = await cli(['organisations', 'list']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
    expect(stderr).not.toContain(text);
  });

  it('is refused if it is missing, or if a key is set too', async () => {
    const named = { RUNLEDGER_NATS_URL: url, RUNLEDGER_NATS_NKEY_FILE: '/nowhere/operator.nkey' };
    expect(await cliWith(named)(['organisations', 'list'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/RUNLEDGER_NATS_NKEY_FILE names a file that cannot be read \(ENOENT/),
    });
    const both = { ...named, RUNLEDGER_NATS_NKEY: key.seed };
    expect(await cliWith(both)(['organisations', 'list'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'RUNLEDGER_NATS_NKEY is set, and so is RUNLEDGER_NATS_NKEY_FILE: unset one of them.',
      ),
    });
  });
});
