import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import cases from '@runledger/webhooks/webhook-url-cases.json' with { type: 'json' };
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { type ApiAnswer, post } from '../../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const queueAt = (webhook: string, { api }: { api: string } = gateway): Promise<ApiAnswer> =>
  post(`${api}/run/deployment/queue`, bed.tenant.key, {
    deployment_id: bed.tenant.deployment.id,
    webhook,
  });
const reasonOf = ({ status, body }: ApiAnswer): unknown =>
  status === 200 ? 'queued' : status === 422 && body.detail.length === 1 ? body.detail[0].msg : body;

const refused = cases.flatMap(({ url, expect: verdict }) => {
  const rule = /^REJECT (.*)$/.exec(verdict)?.[1];
  return rule === undefined ? [] : [{ url, rule }];
});
const allowed = cases.filter(({ expect: verdict }) => !verdict.startsWith('REJECT'));

const TYPES: Readonly<Record<string, readonly string[]>> = {
  ip: ['value_error'],
  name: ['value_error'],
  port: ['value_error'],
  userinfo: ['value_error'],
  scheme: ['url_scheme', 'url_parsing'],
  parse: ['url_parsing'],
  'control/space/backslash': ['url_parsing'],
};

describe('the callback of a run that is queued', () => {
  it.each(refused)('$url is refused by the rule for its $rule', async ({ url, rule }) => {
    const { status, body } = await queueAt(url);
    expect([status, body.detail]).toEqual([
      422,
      [{ loc: ['body', 'webhook'], type: expect.any(String), msg: expect.any(String) }],
    ]);
    expect(TYPES[rule]).toContain(body.detail[0].type);
  });

  it.each(allowed)('$url is accepted', async ({ url }) => {
    bed.dns.set('example.com', ['8.8.4.4', '2606:4700::1111']);
    expect(reasonOf(await queueAt(url))).toBe('queued');
  });

  it('is refused with what is wrong and what would allow it', async () => {
    expect(reasonOf(await queueAt('http://10.1.2.3/'))).toMatch(
      /^The address 10\.1\.2\.3 is not public .* 10\.1\.2\.3 in RUNLEDGER_WEBHOOK_ALLOW$/,
    );
  });

  it('is refused when one of the addresses of its name is forbidden', async () => {
    bed.dns.set('public.example', ['8.8.4.4']);
    bed.dns.set('mixed.example', ['8.8.4.4', '10.0.0.1']);
    bed.dns.set('mixed-families.example', ['8.8.4.4', 'fd00::1']);
    expect(reasonOf(await queueAt('https://public.example/'))).toBe('queued');
    for (const name of ['mixed.example', 'mixed-families.example']) {
      // Not which one: whoever chooses the name must not learn what it leads to here.
      expect(reasonOf(await queueAt(`https://${name}/`))).toBe(
        `The host name ${name} has an address that is not public; the operator can allow it with ${name} in RUNLEDGER_WEBHOOK_ALLOW`,
      );
    }
  });

  it('is refused at an inner address in the same words, whether a service of Runledger is there or nothing', async () => {
    bed.dns.set('points-in.example', ['10.7.0.1']);
    const environment = { RUNLEDGER_WEBHOOK_OWN_SERVICES: '10.7.0.1:8080, 127.0.0.1:8080' };
    const own = await bed.gateway({ environment });
    for (const url of ['http://10.7.0.1:8080/', 'http://points-in.example:8080/', 'http://127.0.0.1:8080/']) {
      const reason = reasonOf(await queueAt(url, own));
      expect([url, reason]).toEqual([url, expect.stringContaining('not public')]);
      expect([url, reason]).toEqual([url, reasonOf(await queueAt(url))]);
    }
  });

  it('is accepted when its name does not exist, has no address, or is not resolved in time', async () => {
    bed.dns.set('empty.example', []);
    bed.dns.set('broken.example', 'servfail');
    bed.dns.set('silent.example', 'silent');
    for (const name of ['unknown', 'empty', 'broken', 'silent']) {
      expect([name, reasonOf(await queueAt(`https://${name}.example/`))]).toEqual([name, 'queued']);
    }
    const noServer = await bed.gateway({ environment: { RUNLEDGER_DNS_SERVERS: '127.0.0.1:1' } });
    expect(reasonOf(await queueAt('https://any.example/', noServer))).toBe('queued');
  });

  it('may be an address that the settings allow, at any port', async () => {
    bed.dns.set('hooks.corp.example', ['10.1.0.5']);
    const environment = { RUNLEDGER_WEBHOOK_ALLOW: 'loopback, hooks.corp.example, 10.2.0.0/16' };
    const allowing = await bed.gateway({ environment });
    for (const url of [
      'http://127.0.0.1:9999/',
      'http://localhost:9999/',
      'http://[::1]:9999/',
      'http://hooks.corp.example:9999/',
      'http://10.2.3.4:9999/',
    ]) {
      expect([url, reasonOf(await queueAt(url, allowing))]).toEqual([url, 'queued']);
      expect(reasonOf(await queueAt(url))).toMatch(/^[A-Z].* can allow it with /);
    }
    const ports = await bed.gateway({ environment: { RUNLEDGER_WEBHOOK_PORTS: '443' } });
    expect(reasonOf(await queueAt('http://8.8.8.8/', ports))).toContain('Port 80 is not one of 443');
  });

  it('is never an address of Runledger itself, also when the settings allow it', async () => {
    bed.dns.set('runs.example', ['127.0.0.1']);
    bed.dns.set('points-home.example', ['127.0.0.1']);
    const environment = {
      RUNLEDGER_WEBHOOK_ALLOW: 'loopback, points-home.example, runs.example, mongo.example',
      RUNLEDGER_WEBHOOK_OWN_SERVICES: '127.0.0.1:7001',
      RUNLEDGER_PUBLIC_URL: 'https://runs.example:8443/base',
      MONGODB_URL: 'mongodb://me:secret@mongo.example,127.0.0.1:7002/runledger?replicaSet=a',
    };
    const allowing = await bed.gateway({ environment });
    const { port } = new URL(allowing.url);
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      `http://[::1]:${port}/`,
      `http://points-home.example:${port}/`,
      `http://127.0.0.1:${bed.nats.port}/`,
      'http://127.0.0.1:7001/',
      'http://127.0.0.1:7002/',
      'http://mongo.example:27017/',
      'https://runs.example:8443/',
    ]) {
      expect([url, reasonOf(await queueAt(url, allowing))]).toEqual([
        url,
        expect.stringContaining('a service of Runledger itself'),
      ]);
    }
    expect(reasonOf(await queueAt('http://127.0.0.1:7003/', allowing))).toBe('queued');
  });

  it('is listed with everything else that is wrong with a request', async () => {
    const { body } = await post(`${gateway.api}/run/deployment/queue`, bed.tenant.key, {
      webhook: 'http://127.0.0.1/',
      gpu: 'none',
    });
    const locs = body.detail.map(({ loc }: { loc: string[] }) => loc.at(-1));
    expect(locs).toEqual(['deployment_id', 'webhook', 'gpu']);
  });
});
