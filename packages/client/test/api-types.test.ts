import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import { expect, it } from 'vitest';
import type { Runledger } from '../src/main.ts';

const ROOT = join(import.meta.dirname, '../../..');

it('the types are those of docs/openapi.json; write them with: npm run docs', async () => {
  const document = JSON.parse(readFileSync(join(ROOT, 'docs', 'openapi.json'), 'utf8'));
  const made = astToString(await openapiTS(document, { defaultNonNullable: false }));
  const written = readFileSync(join(ROOT, 'packages/client/src/generated/api-types.ts'), 'utf8');
  expect(written).toBe(`${COMMENT_HEADER}${made}`);
});

/** Never called: the compiler checks it. */
export const typedRequests = async (client: Runledger): Promise<void> => {
  const { runs, next_cursor } = await client.request('GET', '/runs', {
    query: { status: ['failed'], limit: 5 },
  });
  const [status, cursor]: [string | undefined, string | null] = [runs[0]?.status, next_cursor];
  const nothing: undefined = await client.request('DELETE', '/files/{id}', { params: { id: 'f' } });
  const { id }: { id: string } = await client.request('POST', '/machines', {
    body: { name: 'm', gpu: 'T4', type: 'program', runner: { kind: 'program', program: 'p' } },
  });
  const picture: string = await (
    await client.fetch('GET', '/run/{run_id}/history.svg', { params: { run_id: id } })
  ).text();
  // @ts-expect-error -- a parameter is missing
  await client.request('GET', '/run/{run_id}');
  // @ts-expect-error -- there is no such path
  await client.request('GET', '/rums');
  // @ts-expect-error -- the path has no such method
  await client.request('DELETE', '/runs');
  // @ts-expect-error -- a misspelt filter
  await client.request('GET', '/runs', { query: { stauts: ['failed'] } });
  // @ts-expect-error -- the body is missing
  await client.request('POST', '/workflows');
  // @ts-expect-error -- a misspelt setting
  await client.runs.queue('d', {}, { piority: 1 });
  void [status, cursor, nothing, picture];
};
