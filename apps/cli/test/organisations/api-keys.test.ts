import { createApiKey } from '@runledger/gateway/records/keys/api-keys';
import { catalogue } from '@runledger/gateway/records/catalogue/catalogue';
import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const json = async (...args: string[]) => {
  const { code, stdout } = await gateway.cli([...args, '--json']);
  expect(code).toBe(0);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
};
const names = async (): Promise<string[]> =>
  (await json('keys', 'list')).map(({ name }) => String(name)).toSorted();

describe('runledger keys', () => {
  it('lists who made a key, and from where it was used last', async () => {
    const [made] = await json('keys', 'create', '--name', 'ci');
    const [first] = (await json('keys', 'list')).filter(({ name }) => name === 'first key');
    expect(made.parent_key_id).toBe(first.id);
    const line = await waitFor('the use to be listed', async () => {
      const { stdout } = await gateway.cli(['keys', 'list']);
      return stdout.split('\n').find((one) => one.includes(first.id) && one.includes('127.0.0.1'));
    });
    expect(line).toMatch(/127\.0\.0\.1 +never +- +first key$/);
    const { stdout } = await gateway.cli(['keys', 'list']);
    expect(stdout).toMatch(/^ID +KEY +SCOPES +LAST USED +FROM +EXPIRES +MADE BY +NAME$/m);
    expect(stdout).toMatch(new RegExp(`${made.id}.* never +${first.id} +ci$`, 'm'));
    expect((await gateway.cli(['keys', 'revoke', 'ci'])).stdout).toBe(
      'The key ci is revoked. Every gateway refuses it, and all keys that were made with it, within a second.\n',
    );
  });

  it('revokes a key with those that were made with it, or keeps them', async () => {
    const { org_id, log } = gateway;
    const [first] = (await json('keys', 'list')).filter(({ name }) => name === 'first key');
    const parent = { org_id, user_id: first.user_id };
    const one = await createApiKey(log, { ...parent, name: 'one' });
    const below = (name: string) =>
      createApiKey(log, { ...parent, name, parent_key_id: one.record.id, ancestors: [one.record.id] });
    await below('two');
    expect(await names()).toEqual(['first key', 'one', 'two']);
    const kept = await gateway.cli(['keys', 'revoke', 'one', '--keep-descendants']);
    expect(kept.stdout).toBe('The key one is revoked. Every gateway refuses it within a second.\n');
    expect(await names()).toEqual(['first key', 'two']);
    await gateway.cli(['keys', 'revoke', 'two']);
  });

  it('creates a key of another user', async () => {
    const { org_id, log } = gateway;
    const colleague = { id: newUuid(), org_id, name: 'colleague', created_at: '2026-01-01T00:00:00.000Z' };
    await catalogue(log).createUser(colleague);
    const [made] = await json('keys', 'create', '--name', 'theirs', '--user', colleague.id);
    expect(made.user_id).toBe(colleague.id);
    expect(await gateway.cli(['keys', 'create', '--name', 'x', '--user', newUuid()])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The organisation has no user with this id'),
    });
    expect(await gateway.cli(['keys', 'create', '--operator', '--name', 'x', '--user', 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Use --user without --operator'),
    });
  });
});
