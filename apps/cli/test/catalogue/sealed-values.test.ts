import { randomBytes } from 'node:crypto';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aGateway } from '../fixtures/fake-gateway.ts';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const newKey = (): string => randomBytes(32).toString('base64');
const [next, old] = [newKey(), newKey()];
const [nextId = '', oldId = ''] = secretBox([next, old]).keyIds;

const NO_OTHERS = `organisation secrets: 0 sealed with the key ${nextId}, 0 with an older one, 0 unreadable\n`;

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway({ RUNLEDGER_SECRET_KEYS: `${next},${old}` });
});
afterAll(() => gateway[Symbol.asyncDispose]());

const sealOne = async (key: string): Promise<string> => {
  const org = newUuid();
  await signingSecrets(gateway.log, secretBox([key]), { now: () => new Date() }).current(orgId(org));
  return org;
};

describe('runledger sealed-values', () => {
  it('seals everything again, page by page, and proves that the old key is not needed', async () => {
    await Promise.all(Array.from({ length: 110 }, () => sealOne(old)));
    expect(await gateway.cli(['sealed-values', 'check'])).toEqual({
      code: 2,
      stdout: `webhook secrets: 0 sealed with the key ${nextId}, 110 with an older one, 0 unreadable\n${NO_OTHERS}`,
      stderr:
        'Keep all keys of RUNLEDGER_SECRET_KEYS. Check that the same key is the first one at all gateways and notifiers, and run: runledger sealed-values reseal\n',
    });
    expect(await gateway.cli(['sealed-values', 'reseal'])).toEqual({
      code: 0,
      stdout:
        `webhook secrets: 100 sealed again with the key ${nextId}, 10 left\n` +
        `webhook secrets: 110 sealed again with the key ${nextId}, 0 left\n` +
        `webhook secrets: 110 sealed with the key ${nextId}, 0 with an older one, 0 unreadable\n${NO_OTHERS}` +
        `Proof: 110 values read, and each opens with the key ${nextId}. No other key is needed: remove ${oldId} from RUNLEDGER_SECRET_KEYS of all gateways and notifiers.\n`,
      stderr: '',
    });
  });

  it('names what no key opens, and gives no proof', async () => {
    const lost = await sealOne(newKey());
    const again = await gateway.cli(['sealed-values', 'reseal']);
    expect([again.code, again.stderr]).toEqual([
      2,
      'Keep all keys of RUNLEDGER_SECRET_KEYS. Each unreadable value says what to do.\n',
    ]);
    expect(again.stdout).toMatch(new RegExp(`^unreadable: webhook_secrets ${lost}: .*Add the old key`, 'm'));
    const { code, stdout } = await gateway.cli(['sealed-values', 'check', '--json']);
    expect([code, JSON.parse(stdout)]).toMatchObject([
      2,
      { sealing_key: nextId, other_keys: [oldId], unreadable: [{ id: lost }], proven: false },
    ]);
  });

  it('explains gateways that do not seal with the same key', async () => {
    const page = (sealing_key: string, next_cursor: string | null) => ({
      status: 200,
      body: { sealing_key, other_keys: [], counts: [], unreadable: [], next_cursor },
    });
    const mixed = await aGateway(page(nextId, 'MA'), page(oldId, null));
    expect(await runCli(['sealed-values', 'check'], at(mixed.url))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `One gateway seals with the key ${nextId}, and another with ${oldId}. Put the same`,
      ),
    });
  });
});
