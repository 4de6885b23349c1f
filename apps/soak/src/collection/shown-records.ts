import { dirname } from 'node:path/posix';
import type { CreatedRecord } from '../clients/client-records.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ShownRecord } from '../evidence/evidence.ts';
import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';

const Ids = Type.Array(Type.Object({ id: Type.String() }));
const Page = compiledSchema(
  Type.Object({
    versions: Type.Optional(Ids),
    deployments: Type.Optional(Ids),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
  }),
);

const WITHIN_MS = 20_000;
const PAGE = 100;

/** What all gateways answer for each record that clients created, and whether they list it. */
export const shownRecords = async (
  { gateways, organisation }: Cluster,
  records: readonly CreatedRecord[],
): Promise<readonly ShownRecord[]> => {
  const get = async (url: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const headers = { authorization: `Bearer ${organisation.api_key}` };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
    return { status: response.status, body: await response.json() };
  };
  const idsListedAt = async (gateway: string): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    const lists = new Set(records.map((record) => dirname(record.path)));
    for (const list of lists) {
      for (const archived of [true, false]) {
        for (let cursor: string | null = ''; cursor !== null;) {
          const more = cursor && `&cursor=${encodeURIComponent(cursor)}`;
          const { body } = await get(`${gateway}${list}?limit=${PAGE}&archived=${archived}${more}`);
          if (!Page.Check(body)) throw new Error(`${gateway} answered ${list} with no list`);
          for (const { id } of body.versions ?? body.deployments ?? []) ids.add(id);
          cursor = body.next_cursor;
        }
      }
    }
    return ids;
  };
  return (
    await Promise.all(
      gateways.map(async (gateway) => {
        const listed = await idsListedAt(gateway);
        const shown: ShownRecord[] = [];
        for (const { path, members } of records) {
          const isListed = listed.has(String(members['id']));
          shown.push({ gateway, path, ...(await get(`${gateway}${path}`)), isListed });
        }
        return shown;
      }),
    )
  ).flat();
};
