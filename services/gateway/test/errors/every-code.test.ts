import { readFile } from 'node:fs/promises';
import { REFUSAL_CODES, type RefusalCode } from '@runledger/contracts/http/refusals/refusal-codes';
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
  request_too_slow: 'server/slow-clients',
  run_outlives_log: 'runs/queue/log-age',
  inputs_gone: 'runs/queue/large-inputs',
  workflow_gone: 'runs/rerun/rerun',
  redeliveries_used_up: 'webhooks/redeliver',
  run_events_expired: 'webhooks/redeliver',
  output_address_expired: 'outputs/signed-urls',
  run_history_expired: 'runs/history/past-run',
  too_many_inputs: 'runs/queue/queue',
  deployment_archived: 'runs/queue/queue',
  executor_not_found: 'executors/executors',
  dead_letter_not_found: 'installation/dead-letters',
  deployment_not_restorable: 'catalogue/deployments',
  newest_version: 'catalogue/delete-records',
  workflow_has_versions: 'catalogue/delete-records',
  too_many_api_keys: 'auth/api-keys-routes',
  own_organisation: 'erasures/erase-organisation',
  organisation_name_differs: 'erasures/erase-organisation',
  sealing_key_differs: 'sealing/sealing-routes',
  upload_busy: 'files/uploads',
  workflow_lost: 'catalogue/workflow-store',
  file_too_large: 'executions/upload',
  rate_limited: 'rate-limit/rate-limit-http',
  queue_full: 'quotas/quotas',
  quota_reached: 'quotas/quotas',
  too_many_streams: 'quotas/quotas',
  too_many_uploads: 'quotas/quotas',
  internal_error: 'webhooks/webhook-secret',
  log_unavailable: 'system/server/log-unavailable',
  log_full: 'room/log-room',
  audit_not_stored: 'audit/audit-limits',
  rights_changed_too_often: 'audit/never-locked-out',
  views_unavailable: 'webhooks/webhook-lists',
  archive_unavailable: 'archive/check-segment',
  output_store_unavailable: 'outputs/directory-store',
  scheduler_unavailable: 'executors/queues',
  scheduler_behind: 'runs/read/waiting',
  run_unreadable: 'webhooks/redeliver',
  gateway_streams_full: 'runs/subscribe/stop-and-keys',
  workflow_store_full: 'catalogue/workflow-store',
  blob_store_full: 'runs/queue/large-inputs',
  output_store_full: 'files/full-store',
  not_signed_in: 'accounts/sessions',
  organisation_not_chosen: 'accounts/members',
  api_key_needed: 'accounts/sessions',
  sign_in_refused: 'accounts/sign-in',
  sign_in_limited: 'accounts/sign-in',
  session_incomplete: 'accounts/session-on-another-port',
  sign_in_not_begun: 'accounts/oidc/provider-faults',
  provider_refused: 'accounts/oidc/provider-sign-in',
  provider_answer_invalid: 'accounts/oidc/provider-faults',
  email_not_verified: 'accounts/oidc/provider-sign-in',
  person_unknown: 'accounts/oidc/provider-sign-in',
  invitation_for_another: 'accounts/oidc/provider-sign-in',
  provider_not_offered: 'accounts/oidc/provider-faults',
  identity_taken: 'accounts/oidc/provider-sign-in',
  provider_unavailable: 'accounts/oidc/provider-faults',
  current_password_wrong: 'accounts/sign-in-links',
  sign_in_link_gone: 'accounts/sign-in-links',
  member_not_found: 'accounts/members',
  last_owner: 'accounts/members',
  member_exists: 'accounts/invitations',
  too_many_members: 'accounts/invitations',
  invitation_not_found: 'accounts/invitations',
  invitation_gone: 'accounts/invitations',
  attempt_token_invalid: 'executions/fetch',
  attempt_over: 'executions/upload',
  output_not_announced: 'executions/upload',
  output_superseded: 'executions/upload',
  assigned_workflow_lost: 'executions/fetch',
  assigned_version_deleted: 'executions/input-targets',
  assigned_inputs_lost: 'executions/fetch',
  input_file_gone: 'runs/queue/file-inputs',
  too_many_outputs: 'executions/upload',
  outputs_too_large: 'executions/upload',
  run_log_too_large: 'executions/log',
  assigned_workflow_damaged: 'executions/fetch',
  assigned_inputs_damaged: 'executions/fetch',
  secret_inputs_unreadable: 'runs/secrets/secret-inputs',
  attempt_uploads_limited: 'quotas/quotas',
  storage_quota_reached: 'quotas/quotas',
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
