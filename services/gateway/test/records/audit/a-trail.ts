import type { AuditEntry } from '@runledger/contracts/http/audit';
import { newUuid } from '@runledger/contracts/ids';
import { expect } from 'vitest';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';

/** A gateway, a key of an admin and one of an operator. */
export interface ATrail extends AsyncDisposable {
  readonly bed: TestBed;
  readonly gateway: TestGateway;
  readonly admin: string;
  readonly operator: string;
  /** All records that match, page by page, newest first. */
  read(key: string, query?: string): Promise<AuditEntry[]>;
}

export const aTrail = async (settings: Parameters<typeof openTestBed>[0] = {}): Promise<ATrail> => {
  const bed = await openTestBed(settings);
  const gateway = await bed.gateway();
  return {
    bed,
    gateway,
    admin: await aKey(bed.log, bed.tenant, { scopes: ['runs:write', 'admin'], user_id: newUuid() }),
    operator: await aKey(bed.log, bed.tenant, { scopes: ['operator'] }),
    read: async (key, query = '') => {
      const found: AuditEntry[] = [];
      for (let cursor = ''; ;) {
        const { status, body } = await call(`${gateway.api}/audit?limit=100${cursor}${query}`, key);
        expect(status).toBe(200);
        found.push(...body.records);
        if (body.next_cursor === null) return found;
        cursor = `&cursor=${body.next_cursor}`;
      }
    },
    [Symbol.asyncDispose]: () => bed[Symbol.asyncDispose](),
  };
};
