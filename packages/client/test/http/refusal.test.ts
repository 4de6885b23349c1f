import { describe, expect, it } from 'vitest';
import { ApiError, NotFound, ValidationError } from '../../src/main.ts';
import { aFakeService, json } from '../fixtures/fake-service.ts';

const refusedWith = async (response: Response): Promise<unknown> =>
  aFakeService([response], { retries: 0 })
    .client.runs.get('r1')
    .catch((error: unknown) => error);

describe('a refusal', () => {
  it('has its status, code, sentence and the id of its request', async () => {
    const body = { detail: 'Run not found', code: 'run_not_found', request_id: 'q7' };
    const error = await refusedWith(json(body, 404));
    expect(error).toBeInstanceOf(NotFound);
    expect(error).toMatchObject({
      name: 'NotFound',
      status: 404,
      code: 'run_not_found',
      detail: 'Run not found',
      requestId: 'q7',
      retryAfter: null,
      body,
      message: 'GET /run/r1 was refused with 404: Run not found (request q7)',
    });
  });

  it('of a service that sends no code has null, and the id of the header', async () => {
    const error = await refusedWith(json({ detail: 'A conflict' }, 409, { 'x-request-id': 'q8' }));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ name: 'ApiError', status: 409, code: null, requestId: 'q8' });
  });

  it('of an invalid request lists its problems', async () => {
    const problems = [
      { loc: ['body', 'gpu'], msg: 'Input should be one of …', type: 'enum' },
      { loc: ['body', 'tags', 3], msg: 'Too long', type: 'string_too_long' },
    ];
    const error = await refusedWith(json({ detail: problems, code: 'invalid_request' }, 422));
    expect(error).toBeInstanceOf(ValidationError);
    expect(error).toMatchObject({
      problems,
      detail: 'body.gpu: Input should be one of …\nbody.tags.3: Too long',
    });
  });
});
