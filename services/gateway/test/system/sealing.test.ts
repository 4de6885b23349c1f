import { randomBytes } from 'node:crypto';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { startGatewayProcess } from '../fixtures/gateway/a-service.ts';
import { aKey } from '../fixtures/gateway/a-tenant.ts';
import { openTestBed } from '../fixtures/gateway/test-bed.ts';
import { call, post } from '../fixtures/requests/requests.ts';

const VALUES = 90;

it(
  'values are sealed again after a kill -9 of the gateway, from where it was',
  { timeout: 90_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const key = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
    const [next, old] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
    const [sealing_key] = secretBox([next]).keyIds;
    const secretsWith = (one: string) => signingSecrets(bed.log, secretBox([one]), { now: () => new Date() });
    const before = new Map(
      await Promise.all(
        Array.from({ length: VALUES }, async () => {
          const org = orgId(newUuid());
          return [org, await secretsWith(old).current(org)] as const;
        }),
      ),
    );
    const environment = {
      ...bed.nats.env,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: ':memory:',
      RUNLEDGER_SECRET_KEYS: `${next},${old}`,
    };
    const written = async () => (await bed.log.jsm.streams.info('KV_WEBHOOK_SECRETS')).state.last_seq;

    const killed = open.use(await startGatewayProcess(environment));
    const began = await written();
    const cut = post(`${killed.api}/sealed-values/reseal`, key, { sealing_key }).catch(() => undefined);
    await waitFor('the first values to be sealed again', async () => (await written()) > began);
    killed.kill('SIGKILL');
    await killed.exit();
    await cut;

    const gateway = open.use(await startGatewayProcess(environment));
    const { body } = await post(`${gateway.api}/sealed-values/reseal`, key, { sealing_key });
    expect(body.counts[0]).toMatchObject({ old: 0, unreadable: 0 });
    // Each value once, by either process.
    expect((await written()) - began).toBe(VALUES);
    const proof = await call(`${gateway.api}/sealed-values`, key);
    expect(proof.body.counts).toEqual([
      { kind: 'webhook_secrets', current: VALUES, resealed: 0, old: 0, unreadable: 0 },
      { kind: 'organisation_secrets', current: 0, resealed: 0, old: 0, unreadable: 0 },
    ]);
    for (const [org, secret] of before) expect(await secretsWith(next).current(org)).toEqual(secret);
  },
);
