import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call, type ApiAnswer } from '../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
let served: ApiAnswer;
// oxlint-disable-next-line typescript/no-explicit-any -- a document, which the tests look into
let document: any;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
  served = await call(`${gateway.api}/openapi.json`, null);
  document = served.body;
});
afterAll(() => bed[Symbol.asyncDispose]());

const NEEDS_SCOPE = /needs the scope `(?:runs:read|runs:write|admin|operator)`/;
/** Whoever calls them may be nobody yet. */
const OPEN = [
  'getSession',
  'signIn',
  'signOut',
  'chooseOrganisation',
  'signInWithLink',
  'beginProviderSignIn',
  'finishProviderSignIn',
  'changePassword',
  'previewInvitation',
  'acceptInvitation',
];
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const operations = () =>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  Object.entries<any>(document.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => ({ path, method, ...methods[method] })),
  );

describe('the OpenAPI document', () => {
  it('conforms to the official schema of OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect([valid, errors]).toEqual([true, undefined]);
  });

  it('is served without a key, and names the version and the address of the API', () => {
    expect([served.status, served.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(document).toMatchObject({
      openapi: expect.stringMatching(/^3\.1\./),
      info: { version: 'V2' },
      servers: [{ url: gateway.api }],
      security: [{ apiKey: [] }, { session: [], sessionToken: [] }],
    });
  });

  it('is the one of docs/openapi.json, but for its own address', () => {
    const file = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'openapi.json');
    const written = JSON.parse(readFileSync(file, 'utf8'));
    expect({ ...document, servers: written.servers }).toEqual(written);
  });

  it('has the operations of the specification and those beyond it', () => {
    const named = operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(named.toSorted()).toEqual(
      [
        'POST /run/deployment/queue',
        'DELETE /run/{run_id}',
        'DELETE /run/{run_id}/outputs',
        'GET /run/{run_id}',
        'GET /run/{run_id}/tombstone',
        'GET /run/{run_id}/waiting',
        'POST /run/{run_id}/tokens',
        'POST /run/{run_id}/cancel',
        'GET /run/{run_id}/events',
        'GET /run/{run_id}/history',
        'GET /run/{run_id}/history.svg',
        'GET /run/{run_id}/logs',
        'POST /run/{run_id}/rerun',
        'GET /run/{run_id}/deliveries',
        'POST /run/{run_id}/redeliver',
        'GET /runs',
        'GET /runs/activity',
        'GET /runs/counts',
        'POST /runs/cancel',
        'POST /runs/rerun',
        'GET /webhooks/deliveries',
        'GET /webhooks/receivers',
        'POST /webhooks/redeliver',
        'GET /webhooks/secret',
        'POST /webhooks/secret',
        'GET /models',
        'GET /models/{sha256}',
        'PUT /models/{sha256}',
        'GET /files',
        'POST /files',
        'GET /files/{id}',
        'GET /files/{id}/content',
        'DELETE /files/{id}',
        'POST /files/uploads',
        'GET /files/uploads/{id}',
        'PATCH /files/uploads/{id}',
        'DELETE /files/uploads/{id}',
        'GET /audit',
        'GET /audit/export',
        'GET /usage',
        'GET /retention',
        'PATCH /retention',
        'GET /api-keys',
        'POST /api-keys',
        'DELETE /api-keys/{key_id}',
        'GET /whoami',
        'GET /session',
        'POST /session',
        'PATCH /session',
        'DELETE /session',
        'POST /session/link',
        'POST /session/oidc',
        'POST /session/oidc/answer',
        'POST /account/password',
        'POST /accounts/links',
        'GET /members',
        'PATCH /members/{user_id}',
        'DELETE /members/{user_id}',
        'GET /invitations',
        'POST /invitations',
        'DELETE /invitations/{invitation_id}',
        'POST /invitations/preview',
        'POST /invitations/accept',
        'DELETE /machines/{machine_id}',
        'DELETE /workflows/{workflow_id}',
        'DELETE /workflows/{workflow_id}/versions/{version_id}',
        'DELETE /deployments/{deployment_id}',
        'DELETE /organisations/{org_id}',
        'GET /organisations/{org_id}/tombstone',
        'GET /sealed-values',
        'POST /sealed-values/reseal',
        'GET /queues',
        'GET /system',
        'GET /dead-letters',
        'POST /dead-letters/{id}/redrive',
        'DELETE /dead-letters/{id}',
        'GET /executors',
        'GET /executors/{name}',
        'POST /executors/{name}/drain',
        'POST /executors/{name}/resume',
        'GET /machines',
        'POST /machines',
        'GET /machines/{machine_id}',
        'PATCH /machines/{machine_id}',
        'GET /workflows',
        'POST /workflows',
        'GET /workflows/{workflow_id}',
        'PATCH /workflows/{workflow_id}',
        'GET /workflows/{workflow_id}/versions',
        'POST /workflows/{workflow_id}/versions',
        'GET /workflows/{workflow_id}/versions/{version_id}',
        'GET /workflows/{workflow_id}/versions/{version_id}/code',
        'PATCH /workflows/{workflow_id}/versions/{version_id}',
        'GET /deployments',
        'POST /deployments',
        'POST /deployments/check',
        'GET /deployments/{deployment_id}',
        'GET /deployments/{deployment_id}/ready',
        'PATCH /deployments/{deployment_id}',
        'GET /secrets',
        'PUT /secrets/{name}',
        'DELETE /secrets/{name}',
        'GET /schedules',
        'POST /schedules',
        'GET /schedules/{schedule_id}',
        'PATCH /schedules/{schedule_id}',
        'DELETE /schedules/{schedule_id}',
      ].toSorted(),
    );
  });

  it('names each operation once, with its purpose and its scope', () => {
    const ids = operations().map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operationId, summary, description } of operations()) {
      expect(operationId).toMatch(/^[a-z][A-Za-z]+$/);
      expect(summary.length).toBeGreaterThan(0);
      const needs = OPEN.includes(operationId) ? /needs no API key/ : NEEDS_SCOPE;
      expect(description).toMatch(needs);
    }
  });

  it('has the schemas of the specification, and no keyword of ours', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([
        'DeploymentRunRequest',
        'CreateRunResponse',
        'WorkflowRun',
        'HTTPValidationError',
        'ValidationError',
        'WebhookPayload',
        'RunFactEvent',
        'RunProgressEvent',
      ]),
    );
    expect(JSON.stringify(document)).not.toMatch(/x-refusal|time-or-day|webhook-url/);
  });

  it('names the codes of each refusal, without those that only executors get', () => {
    const { NotFound, TooMany, Invalid, Conflict } = document.components.responses;
    expect(NotFound.description).toMatch(/Its code is one of .*`run_not_found`, .*`deployment_archived`/);
    expect(TooMany.description).toContain('`queue_full`');
    expect(Invalid.description).toMatch(/Its code is `invalid_request`\.$/);
    expect(Conflict.description).not.toContain('attempt_over');
    const { code, request_id } = document.components.schemas.Refusal.properties;
    expect([code.type, code.enum, request_id.type]).toEqual(['string', undefined, 'string']);
  });

  it('describes the notifications to a webhook', () => {
    const { post } = document.webhooks.runNotification;
    expect(post.requestBody.content['application/json'].schema.$ref).toBe(
      '#/components/schemas/WebhookPayload',
    );
    expect(post.parameters.map(({ name }: { name: string }) => name)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
      'runledger-webhook-version',
    ]);
  });
});
