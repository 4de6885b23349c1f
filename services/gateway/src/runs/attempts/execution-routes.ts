import type { PlainRoute } from '../../door/operation.ts';
import type { OutputStore } from '../../files/output-store.ts';
import {
  inputsOf,
  workflowOf,
  inputTargetsRoute,
  inputFileRoute,
  secretInputsRoute,
} from './attempt-inputs.ts';
import { logMasksRoute, logRoute } from './attempt-log.ts';
import { outputListRoute, uploadRoute } from './attempt-outputs.ts';
import type { Files } from '../../files/files.ts';
import { fetchRoute } from './attempt-permission.ts';
import type { Kit } from '../../kit.ts';
import type { Runs } from '../runs.ts';
import { admitUpload } from '../../records/quotas/admit-upload.ts';
import type { CatalogueRecords } from '../../records/catalogue/catalogue.ts';

/** What the executor of an attempt requests, with the token of the attempt. */
export const executionRoutes = (
  kit: Kit,
  { quotas, secrets }: Runs,
  { deployments, versions }: CatalogueRecords,
  files: Files,
  store: OutputStore,
): PlainRoute[] => {
  const { log, stores } = kit;
  const route = (method: PlainRoute['method'], name: string, serve: PlainRoute['serve']): PlainRoute => ({
    method,
    path: `/executions/:org_id/:run_id/:attempt/${name}`,
    serve,
    needsLog: true,
  });
  return [
    route('GET', 'workflow', fetchRoute(log, workflowOf(stores))),
    route('GET', 'inputs', fetchRoute(log, inputsOf(stores))),
    route('GET', 'secret-inputs', secretInputsRoute(kit, secrets)),
    route(
      'GET',
      'input-targets',
      inputTargetsRoute(log, (org_id, id) => versions.getRecord(org_id, id)),
    ),
    route('GET', 'files/:id', inputFileRoute(kit, files, store)),
    route(
      'GET',
      'log-masks',
      logMasksRoute(log, (org_id, id) => deployments.get(org_id, id)),
    ),
    route('PUT', 'log', logRoute(kit, quotas.blob_bytes)),
    route('PUT', 'output-list', outputListRoute(log, quotas.blob_bytes)),
    route('PUT', 'outputs', uploadRoute(kit, store, admitUpload(quotas))),
  ];
};
