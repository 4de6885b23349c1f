import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import { silentLogger } from '@runledger/event-log/connect/observability';
import type { KeepReadyResponse } from '@runledger/contracts/requests/ready-slots';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openReadyKeeper } from '../../src/code/keep-ready.ts';
import { atTheEnd } from '../fixtures/at-the-end.ts';
import { ORG_ID } from '../fixtures/isolations.ts';
import { archiveOf, codeFetcherOf, manifestOf, openCode, type Archive } from './versions.ts';

const VERSION = '01920000-0000-7000-8000-000000000001';
const DEPLOYMENT = '01920000-0000-7000-8000-0000000000dd';
const PATH = `/preparations/${ORG_ID}/${VERSION}`;

/** What a gateway has of the version. `tokens`: those that were shown. */
const aGateway = async ({ bytes, sha256 }: Archive, manifest: CodeManifest) => {
  const tokens: (string | undefined)[] = [];
  const gateway = { status: 200, secrets: {} as Readonly<Record<string, string>> };
  const server = createServer(({ url, headers }, response) => {
    tokens.push(headers.authorization);
    response.statusCode = gateway.status;
    if (gateway.status !== 200) response.end('{"detail": "not now"}');
    else if (url === `${PATH}/version`)
      response.end(JSON.stringify({ workflow: JSON.stringify(manifest), secrets: gateway.secrets }));
    else if (url === `${PATH}/code`) response.setHeader('etag', `"${sha256}"`).end(bytes);
    else response.writeHead(404).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  atTheEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return Object.assign(gateway, { url: new URL(`http://127.0.0.1:${port}`), tokens });
};

const open = async (
  of: Omit<CodeManifest, 'code_sha256'>,
  files: Readonly<Record<string, string>> = { a: '' },
) => {
  const archive = await archiveOf(files);
  const manifest = manifestOf(archive, of);
  const gateway = await aGateway(archive, manifest);
  const { runner, slots, start } = await openCode();
  const busy: { readonly slot: number }[] = [];
  if (runner.keep === undefined) throw new Error('the runner keeps nothing');
  const keeper = openReadyKeeper({
    keep: runner.keep,
    slots,
    busy: () => busy,
    gateway: gateway.url,
    log: silentLogger,
  });
  atTheEnd(async () => keeper[Symbol.dispose]());
  /** `for_s`: long enough for a slow machine. */
  const keep = (
    of_slots: readonly number[],
    for_s = 60,
    token = 'first',
  ): KeepReadyResponse['versions'][number] => {
    const version = { org_id: ORG_ID, deployment_id: DEPLOYMENT, workflow_version_id: VERSION };
    const versions = [{ ...version, slots: [...of_slots], token }];
    const [state] = keeper.keep({ executor_id: 'box.0a1b2c3d4e5f', versions, for_s }).versions;
    if (state === undefined) throw new Error('there is no answer');
    return state;
  };
  const run = (slot: number, nth: number, secrets = {}) =>
    start(manifest, {
      secrets,
      fetchCode: codeFetcherOf(archive),
      workflow_version_id: VERSION,
      deployment_id: DEPLOYMENT,
      slot,
      nth,
    });
  return { runner, gateway, keep, busy, run };
};

const RESIDENT = {
  'main.py': `import json, sys
print(json.dumps({"type": "ready"}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "run":
        print(json.dumps({"type": "done", "run_id": message["run_id"]}), flush=True)
`,
};
const resident: Omit<CodeManifest, 'code_sha256'> = { command: ['python3', 'main.py'], mode: 'resident' };

describe('a version that is kept ready', () => {
  it('is prepared, and loaded in its slot, so that its first run waits for nothing', async () => {
    const { runner, gateway, keep, run } = await open(resident, RESIDENT);
    expect(keep([0])).toMatchObject({ executor: { state: 'preparing' }, slots: [{ state: 'preparing' }] });
    await waitFor('it is loaded', () => keep([0]).slots[0]?.state === 'loaded');
    expect(keep([]).executor.state).toBe('prepared');
    expect(runner.prepared?.()).toEqual([VERSION]);
    expect(new Set(gateway.tokens)).toEqual(new Set(['Bearer first']));
    const { result, begun } = run(0, 1);
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(begun).toEqual([0]);
  });

  it('is not loaded in a slot that a run has, nor in one that the executor does not have', async () => {
    const { keep, busy } = await open(resident, RESIDENT);
    busy.push({ slot: 0 });
    await waitFor('it is prepared', () => keep([0]).executor.state === 'prepared');
    expect(keep([0, 9]).slots.map(({ state }) => state)).toEqual(['occupied', 'occupied']);
  });

  it('waits for a gateway that is away, and comes with the token that was sent last', async () => {
    const { gateway, keep } = await open(resident, RESIDENT);
    gateway.status = 503;
    keep([]);
    await waitFor('it was asked', () => gateway.tokens.length > 0);
    expect(keep([], 60, 'second').executor.state).toBe('preparing');
    gateway.status = 200;
    await waitFor('it is prepared', () => keep([], 60, 'second').executor.state === 'prepared');
    expect(gateway.tokens.at(-1)).toBe('Bearer second');
  });

  it('says why it cannot be prepared or loaded, and is not tried again at once', async () => {
    const broken = await open({ command: ['no-such-program'] });
    await waitFor('it failed', () => broken.keep([]).executor.state === 'failed');
    const { length } = broken.gateway.tokens;
    expect(broken.keep([0])).toMatchObject({
      executor: { why: expect.stringContaining('has no no-such-program on its PATH') },
      slots: [{ state: 'failed' }],
    });
    expect(broken.gateway.tokens.length).toBe(length);
    const once = await open({ command: ['true'] });
    await waitFor('it is prepared', () => once.keep([]).executor.state === 'prepared');
    expect(once.keep([0]).slots[0]).toMatchObject({
      state: 'failed',
      why: expect.stringContaining('Use keep_prepared'),
    });
    const dies = await open(resident, { 'main.py': 'raise SystemExit("no weights")' });
    await waitFor('it failed', () => dies.keep([0]).slots[0]?.state === 'failed');
    expect(dies.keep([0]).slots[0]?.why).toContain('no weights');
  });

  it('has its secrets, so that its first run finds the same process, and waits for one that nobody has set', async () => {
    const secrets = { TOKEN: 'TOKEN' };
    const { keep } = await open({ ...resident, secrets }, RESIDENT);
    await waitFor('it failed', () => keep([0]).executor.state === 'failed');
    expect(keep([0]).executor.why).toContain('runledger secrets set TOKEN');
    const set = await open({ ...resident, secrets }, RESIDENT);
    set.gateway.secrets = { TOKEN: 'a-value' };
    await waitFor('it is loaded', () => set.keep([0]).slots[0]?.state === 'loaded');
    const { result, begun } = set.run(0, 1, { TOKEN: 'a-value' });
    expect([(await result).outcome, begun]).toEqual(['succeeded', [0]]);
    const other = set.run(0, 2, { TOKEN: 'another-value' });
    expect([(await other.result).outcome, other.begun[0] === 0]).toEqual(['succeeded', false]);
    // The process of the run is newer than what was fetched for keeping.
    expect(set.keep([0]).slots[0]?.state).toBe('loaded');
  });

  it('is no longer kept when nobody says so, and begins anew', async () => {
    const { gateway, keep } = await open(resident, RESIDENT);
    await waitFor('it is prepared', () => keep([]).executor.state === 'prepared');
    const { length } = gateway.tokens;
    keep([], 0.01);
    await waitFor(
      'it was let go',
      () => {
        const { state } = keep([], 0.01).executor;
        return state === 'preparing' || gateway.tokens.length > length;
      },
      { everyMs: 1_500 },
    );
    await waitFor('it is prepared again', () => keep([]).executor.state === 'prepared');
  });
});
