import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import { orgId } from '@runledger/contracts/ids';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { A_SECRET_KEY, type TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { type ApiAnswer, call, post } from '../../fixtures/requests/requests.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

/** The admin of a new organisation. */
const anAdmin = async () => {
  const tenant = await bed.newTenant();
  const key = await aKey(bed.log, tenant, { scopes: ['admin'] });
  const path = '/webhooks/secret';
  return {
    tenant,
    key,
    show: (at = gateway): Promise<ApiAnswer> => call(`${at.api}${path}`, key),
    rotate: (body?: unknown, at = gateway): Promise<ApiAnswer> => post(`${at.api}${path}`, key, body),
  };
};

const secondsUntil = ({ expires_at }: { expires_at: string }): number =>
  (Date.parse(expires_at) - Date.now()) / 1_000;

describe('the signing secret of webhooks', () => {
  it('is shown to an admin, the same by every gateway, and may not be cached', async () => {
    const { show } = await anAdmin();
    const { status, headers, body } = await show();
    expect([status, body]).toEqual([
      200,
      { secret: expect.stringMatching(/^whsec_/), created_at: expect.any(String), previous: null },
    ]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await show()).body).toEqual(body);
    expect((await show(await bed.gateway())).body).toEqual(body);
  });

  it('is what the notifier signs with', async () => {
    const { tenant, show } = await anAdmin();
    const notifier = signingSecrets(bed.log, secretBox([A_SECRET_KEY]), { now: () => new Date() });
    const secrets = await notifier.valid(orgId(tenant.org_id));
    expect(secrets).toEqual([(await show()).body.secret]);
  });

  it('is rotated by an admin, and the previous one signs for another day by default', async () => {
    const { show, rotate } = await anAdmin();
    const old = (await show()).body;
    const { status, headers, body } = await rotate();
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body.secret).not.toBe(old.secret);
    expect(body.previous).toEqual({ secret: old.secret, expires_at: expect.any(String) });
    expect(secondsUntil(body.previous)).toBeGreaterThan(86_000);
    expect(secondsUntil(body.previous)).toBeLessThanOrEqual(86_400);
    expect((await show()).body).toEqual(body);
  });

  it.each([{}, { overlap_s: null }, { overlap_s: 86_400, another: 'field' }])(
    'is rotated with an overlap of a day by %j',
    async (request) => {
      const { show, rotate } = await anAdmin();
      await show();
      expect(secondsUntil((await rotate(request)).body.previous)).toBeGreaterThan(86_000);
    },
  );

  it('is rotated with the requested overlap, or none', async () => {
    const { show, rotate } = await anAdmin();
    await show();
    expect(secondsUntil((await rotate({ overlap_s: 604_800 })).body.previous)).toBeGreaterThan(604_000);
    expect((await rotate({ overlap_s: 0 })).body.previous).toBeNull();
    expect((await show()).body.previous).toBeNull();
  });

  it.each([
    [[], ['body'], 'model_attributes_type'],
    [null, ['body'], 'model_attributes_type'],
    [{ overlap_s: '60' }, ['body', 'overlap_s'], 'float_type'],
    [{ overlap_s: true }, ['body', 'overlap_s'], 'float_type'],
    [{ overlap_s: -1 }, ['body', 'overlap_s'], 'greater_than_equal'],
    [{ overlap_s: 604_801 }, ['body', 'overlap_s'], 'less_than_equal'],
  ])('is not rotated by %j', async (request, loc, type) => {
    const { show, rotate } = await anAdmin();
    const before = (await show()).body;
    const { status, body } = await rotate(request);
    expect([status, body]).toEqual([
      422,
      aRefusal('invalid_request', [{ loc, type, msg: expect.any(String) }]),
    ]);
    expect((await show()).body).toEqual(before);
  });

  it.each([['runs:read'], ['runs:write']] as const)(
    'is neither shown to nor rotated by a key with the scope %s',
    async (scope) => {
      const { tenant, show } = await anAdmin();
      const before = (await show()).body;
      const key = await aKey(bed.log, tenant, { scopes: [scope] });
      const url = `${gateway.api}/webhooks/secret`;
      for (const answer of [await call(url, key), await post(url, key)]) {
        expect([answer.status, answer.body]).toEqual([
          403,
          aRefusal('scope_missing', 'This API key lacks the scope admin'),
        ]);
      }
      expect((await call(url, null)).status).toBe(401);
      expect((await show()).body).toEqual(before);
    },
  );

  it('is separate for each organisation', async () => {
    const [one, other] = [await anAdmin(), await anAdmin()];
    const ofOther = (await other.show()).body;
    expect((await one.show()).body.secret).not.toBe(ofOther.secret);
    await one.rotate();
    expect((await other.show()).body).toEqual(ofOther);
  });

  it('is a 500 without details when it cannot be decrypted, and a rotation without overlap replaces it', async () => {
    const { show, rotate } = await anAdmin();
    const { secret } = (await show()).body;
    const environment = { RUNLEDGER_SECRET_KEYS: randomBytes(32).toString('base64') };
    const mistaken = await bed.gateway({ environment });
    const refused = await show(mistaken);
    expect([refused.status, refused.body]).toEqual([
      500,
      aRefusal('internal_error', expect.stringContaining('Its log has the details')),
    ]);
    expect((await rotate({}, mistaken)).status).toBe(500);
    const { status, body } = await rotate({ overlap_s: 0 }, mistaken);
    expect(status).toBe(200);
    expect(body.secret).not.toBe(secret);
    expect((await show(mistaken)).body).toEqual(body);
  });
});
