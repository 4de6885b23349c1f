import type { RunKey } from '@runledger/contracts/events/subjects';
import { expect } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { post } from '../../fixtures/requests/requests.ts';

/** A token that this API key makes for a run. */
export const aRunToken = async (
  { api }: Pick<TestGateway, 'api'>,
  key: string,
  { run_id }: Pick<RunKey, 'run_id'>,
  scopes: readonly string[] = ['read', 'events', 'logs'],
): Promise<string> => {
  const { status, body } = await post(`${api}/run/${run_id}/tokens`, key, { scopes });
  expect(status).toBe(201);
  return String(body.token);
};
