import { readFile } from 'node:fs/promises';
import { REFUSAL_CODES, type RefusalCode } from '@runledger/contracts/http/refusal-codes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRefusal } from '../fixtures/requests/a-refusal.ts';
import { aScene, type Provoke, type Scene } from './a-scene.ts';
import { REFUSED_BY_STATE } from './refused-by-state.ts';
import { REFUSED_FOR_RECORDS } from './refused-for-records.ts';
import { REFUSED_FOR_RUNS } from './refused-for-runs.ts';
import { REFUSED_REQUESTS } from './refused-requests.ts';

const HERE = { ...REFUSED_REQUESTS, ...REFUSED_FOR_RUNS, ...REFUSED_FOR_RECORDS, ...REFUSED_BY_STATE };

/** The tests that provoke the others, which need outages, full stores, lost values or attempts. */
const ELSEWHERE: Readonly<Record<Exclude<RefusalCode, keyof typeof HERE>, string>> = {
  request_too_slow: 'door/server/slow-clients',
  run_outlives_log: 'runs/queue/log-age',
  inputs_gone: 'runs/queue/large-inputs',
  workflow_gone: 'runs/rerun/rerun',
  redeliveries_used_up: 'runs/webhooks/redeliver',
  run_events_expired: 'runs/webhooks/redeliver',
  output_address_expired: 'files/outputs/signed-urls',
  run_history_expired: 'runs/history/past-run',
  too_many_inputs: 'runs/queue/queue',
  deployment_archived: 'runs/queue/queue',
  executor_not_found: 'records/operators/executors',
  dead_letter_not_found: 'records/operators/dead-letters',
  deployment_not_restorable: 'records/catalogue/deployments',
  newest_version: 'records/catalogue/delete-records',
  workflow_has_versions: 'records/catalogue/delete-records',
  too_many_api_keys: 'records/keys/api-keys-routes',
  own_organisation: 'keeping/erasures/erase-organisation',
  organisation_name_differs: 'keeping/erasures/erase-organisation',
  sealing_key_differs: 'records/keys/sealing-routes',
  secret_not_found: 'records/catalogue/secrets',
  secrets_unreadable: 'records/catalogue/secrets',
  upload_busy: 'files/uploads',
  workflow_lost: 'records/catalogue/workflow-store',
  version_has_no_code: 'records/catalogue/version-code',
  code_lost: 'records/catalogue/version-code',
  model_lost: 'files/models',
  file_too_large: 'runs/attempts/upload',
  rate_limited: 'door/rate-limit/rate-limit-http',
  queue_full: 'records/quotas/quotas',
  quota_reached: 'records/quotas/quotas',
  too_many_streams: 'records/quotas/quotas',
  too_many_uploads: 'records/quotas/quotas',
  internal_error: 'runs/webhooks/webhook-secret',
  log_unavailable: 'system/door/server/log-unavailable',
  log_full: 'runs/facts/log-capacity',
  audit_not_stored: 'records/audit/audit-limits',
  rights_changed_too_often: 'records/audit/never-locked-out',
  views_unavailable: 'runs/webhooks/webhook-lists',
  archive_unavailable: 'runs/behind/writers-missed',
  output_store_unavailable: 'files/outputs/directory-store',
  scheduler_unavailable: 'records/operators/queues',
  scheduler_behind: 'runs/read/waiting',
  run_unreadable: 'runs/webhooks/redeliver',
  gateway_streams_full: 'runs/subscribe/stop-and-keys',
  workflow_store_full: 'records/catalogue/workflow-store',
  blob_store_full: 'runs/queue/large-inputs',
  output_store_full: 'files/full-store',
  not_signed_in: 'records/people/sessions',
  organisation_not_chosen: 'records/people/members',
  api_key_needed: 'records/people/sessions',
  sign_in_refused: 'records/people/sign-in',
  sign_in_limited: 'records/people/sign-in',
  session_incomplete: 'records/people/session-on-another-port',
  sign_in_not_begun: 'records/people/provider-faults',
  provider_refused: 'records/people/provider-sign-in',
  provider_answer_invalid: 'records/people/provider-faults',
  email_not_verified: 'records/people/provider-sign-in',
  person_unknown: 'records/people/provider-sign-in',
  invitation_for_another: 'records/people/provider-sign-in',
  provider_not_offered: 'records/people/provider-faults',
  identity_taken: 'records/people/provider-sign-in',
  provider_unavailable: 'records/people/provider-faults',
  current_password_wrong: 'records/people/sign-in-links',
  sign_in_link_gone: 'records/people/sign-in-links',
  member_not_found: 'records/people/members',
  last_owner: 'records/people/members',
  member_exists: 'records/people/invitations',
  too_many_members: 'records/people/invitations',
  invitation_not_found: 'records/people/invitations',
  invitation_gone: 'records/people/invitations',
  attempt_token_invalid: 'runs/attempts/assignment',
  attempt_over: 'runs/attempts/upload',
  output_not_announced: 'runs/attempts/upload',
  output_superseded: 'runs/attempts/upload',
  assigned_workflow_lost: 'runs/attempts/assignment',
  assigned_version_deleted: 'runs/attempts/assignment',
  assigned_inputs_lost: 'runs/attempts/assignment',
  input_file_gone: 'runs/queue/file-inputs',
  too_many_outputs: 'runs/attempts/upload',
  outputs_too_large: 'runs/attempts/upload',
  run_log_too_large: 'runs/attempts/log',
  assigned_workflow_damaged: 'runs/attempts/assignment',
  assigned_inputs_damaged: 'runs/attempts/assignment',
  secret_inputs_unreadable: 'runs/queue/secret-inputs',
  attempt_uploads_limited: 'records/quotas/quotas',
  storage_quota_reached: 'records/quotas/quotas',
};

describe('a code of a refusal', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await aScene();
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  it('is provoked here or elsewhere, each of them once', () => {
    const provoked = [...Object.keys(HERE), ...Object.keys(ELSEWHERE)];
    expect(provoked.toSorted()).toEqual(Object.keys(REFUSAL_CODES).toSorted());
  });

  it.each(Object.entries<Provoke>(HERE))('is provoked: %s', async (code, provoke) => {
    const { status, body } = await provoke(scene);
    const known = code as RefusalCode;
    expect([status, body]).toEqual([REFUSAL_CODES[known].status, aRefusal(known, expect.anything())]);
  });

  it.each(Object.entries(ELSEWHERE))('is expected by the test that provokes it: %s', async (code, name) => {
    const text = await readFile(new URL(`../${name}.test.ts`, import.meta.url), 'utf8');
    expect(text).toMatch(new RegExp(`['"]${code}['"]`));
  });
});
