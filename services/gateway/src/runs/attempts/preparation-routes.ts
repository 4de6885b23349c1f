import type { NumberedVersion } from '@runledger/contracts/catalogue/records';
import { isUuid, orgId } from '@runledger/contracts/ids';
import type { PreparationDocument } from '@runledger/contracts/requests/ready-slots';
import type { Context } from 'koa';
import { bearerOf } from '../../door/caller.ts';
import type { PlainRoute } from '../../door/operation.ts';
import { noSuchPath, Refused } from '../../door/refusal.ts';
import { sendCode } from '../../files/code-archives.ts';
import { sendModel } from '../../files/model-routes.ts';
import type { Models } from '../../files/models.ts';
import type { Kit } from '../../kit.ts';
import type { Catalogue } from '../../records/catalogue/catalogue.ts';
import { preparationTokens, type PreparationTokens } from '../../records/catalogue/kept-ready.ts';
import { openVariables, readWorkflow, type AssignedRecords } from './assignment.ts';

/** `/preparations/{org_id}/{workflow_version_id}/…`: what an executor requests of a version that it is to have ready, without a run. */
export const preparationRoutes = (kit: Kit, records: AssignedRecords, models: Models): PlainRoute[] => {
  const tokens = preparationTokens(kit);
  const route = (
    name: string,
    serve: (ctx: Context, version: NumberedVersion) => Promise<void>,
  ): PlainRoute => ({
    method: 'GET',
    path: `/preparations/:org_id/:workflow_version_id/${name}`,
    serve: async (ctx) => serve(ctx, await permittedVersion(tokens, records, ctx)),
    needsLog: true,
  });
  return [
    route('version', async (ctx, { org_id, id, sha256 }) => {
      const workflow = await readWorkflow(kit, { org_id, version: id, sha256 });
      ctx.set('Cache-Control', 'no-store');
      const secrets = await openVariables(kit, records.secrets, { org_id: orgId(org_id) }, workflow);
      ctx.body = { workflow, secrets } satisfies PreparationDocument;
    }),
    route('code', async (ctx, { code, ...version }) => {
      if (!code) throw noSuchPath(ctx);
      await sendCode(kit, ctx, { ...version, code });
    }),
    route('models/:sha256', async (ctx, version) => {
      const { sha256 }: Record<string, unknown> = ctx['params'] ?? {};
      await sendModel(kit, models, ctx, version, String(sha256));
    }),
  ];
};

/** @throws {Refused} without a token of this version @throws {LogUnavailable} */
const permittedVersion = async (
  tokens: PreparationTokens,
  { versions }: Catalogue,
  ctx: Context,
): Promise<NumberedVersion> => {
  const { org_id: org, workflow_version_id: id }: Record<string, unknown> = ctx['params'] ?? {};
  const [org_id, workflow_version_id] = [String(org), String(id)];
  if (!isUuid(org_id) || !isUuid(workflow_version_id)) throw noSuchPath(ctx);
  const token = bearerOf(ctx.req);
  if (token === undefined || !tokens.verifies({ org_id, workflow_version_id }, token)) throw badToken();
  const version = await versions.get(org_id, workflow_version_id);
  if (!version) throw noSuchPath(ctx);
  return version;
};

const badToken = (): Refused =>
  new Refused({ code: 'attempt_token_invalid', why: 'This is not a token of this version, or no longer' });
