import { KeepModel, Model, ModelPage, ModelPath, ModelsQuery } from '@runledger/contracts/http/models';
import type { NumberedVersion } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import type { Context } from 'koa';
import { operation, route, type Route } from '../door/operation.ts';
import { cursorAt } from '../door/pagination.ts';
import { found, invalidRequest, noSuchPath, Refused, wrongValue } from '../door/refusal.ts';
import type { Kit } from '../kit.ts';
import { checkRecordCursor, recordSpan } from '../records/catalogue/record-answers.ts';
import { recordPage } from '../records/catalogue/records.ts';
import type { WorkflowVersions } from '../records/catalogue/workflow-versions.ts';
import type { Files } from './files.ts';
import { modelSortKey, type Models, type RetainedModel } from './models.ts';
import { sendFile } from './send-file.ts';

const tag = 'Catalogue';

const keepModel = operation({
  id: 'keepModel',
  method: 'PUT',
  path: '/models/{sha256}',
  tag,
  summary: 'Keep an uploaded file as a model',
  description:
    'Copies the file to where nothing expires, so that versions with code can name it: `{"sha256": "…", "bytes": 123}` in `models` of their manifest. It may be repeated; a model that the organisation has already is not copied again. Large files take minutes. A model that no version names is removed a day after it was kept.',
  scope: 'admin',
  audit: { unrecorded: 'it is data of the client, and the version that names it is recorded' },
  request: { path: ModelPath, body: KeepModel },
  response: {
    status: 200,
    description: 'The model is kept.',
    body: Model,
    links: { to: ['getModel'], parameters: { sha256: '/sha256' } },
  },
  refusals: [404, 507],
});

const listModels = operation({
  id: 'listModels',
  method: 'GET',
  path: '/models',
  tag,
  summary: 'List models',
  description: 'Files with weights that the organisation keeps for its versions, the last kept one first.',
  scope: 'runs:read',
  request: { query: ModelsQuery },
  response: { status: 200, description: 'A page of models.', body: ModelPage },
});

const getModel = operation({
  id: 'getModel',
  method: 'GET',
  path: '/models/{sha256}',
  tag,
  summary: 'Read what a model is',
  description: 'Not its bytes. 404 when the organisation does not keep it, or it is lost in the store.',
  scope: 'runs:read',
  request: { path: ModelPath },
  response: { status: 200, description: 'The model.', body: Model },
  refusals: [404],
});

export const modelRoutes = (models: Models, files: Files, versions: WorkflowVersions): Route[] => {
  const shown = (uses: ReadonlyMap<string, number>, model: Omit<RetainedModel, 'isWhole'>): Model => ({
    sha256: model.sha256,
    bytes: model.bytes,
    versions: uses.get(model.sha256) ?? 0,
    created_at: model.created_at,
  });
  return [
    route(keepModel, async ({ path: { sha256 }, body }, { org_id }) => {
      const wrong = (why: string): Refused => invalidRequest(wrongValue(['body', 'file'], why));
      const file = (await files.find(org_id, body.file))?.value;
      if (!file)
        throw wrong('the organisation has no file with this id, or it has expired: upload the model');
      if (file.sha256 !== sha256)
        throw wrong(`the file has the SHA-256 ${file.sha256}, and not the one of the path`);
      if (file.bytes === 0) throw wrong('the file is empty, and a model has bytes');
      const { model } = await models.keep(file);
      return shown(await versions.models(org_id), model);
    }),
    route(
      listModels,
      async ({ query }, { org_id }) => {
        const [stored, uses] = await Promise.all([models.records.of(org_id).now(), versions.models(org_id)]);
        const all = stored.newestFirst().map(({ value }) => value);
        const { items, end } = recordPage(all, recordSpan(query), ({ isWhole }) => isWhole, modelSortKey);
        return { models: items.map((model) => shown(uses, model)), next_cursor: cursorAt(end) };
      },
      checkRecordCursor,
    ),
    route(getModel, async ({ path }, { org_id }) => {
      const { model } = found(await models.find(org_id, path.sha256), 'Model');
      return shown(await versions.models(org_id), model);
    }),
  ];
};

/** Answers with the bytes of a model that the version names, or a part of them. @throws {Refused} */
export const sendModel = async (
  { logger }: Pick<Kit, 'logger'>,
  models: Pick<Models, 'find' | 'store'>,
  ctx: Context,
  { org_id, models: named = [] }: Pick<NumberedVersion, 'org_id' | 'models'>,
  sha256: string,
): Promise<void> => {
  if (!named.includes(sha256)) throw noSuchPath(ctx);
  const kept = await models.find(orgId(org_id), sha256);
  if (!kept)
    throw new Refused({
      code: 'model_lost',
      why: `The model with the SHA-256 ${sha256} is lost in the store of models: deploy the folder again from where the file is, which also repairs this version`,
    });
  const { object } = kept;
  const read = models.store.read.bind(undefined, object);
  await sendFile(ctx, { file: { ...object, sha256 }, cacheControl: 'no-store', read }, logger);
};
