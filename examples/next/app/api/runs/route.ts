// POST /api/runs { deployment, inputs }: queues a run, and gives the browser a token that reads this run and nothing else.
import { Runledger, RunledgerError, ValidationError, type Inputs } from '@runledger/client';

interface Wanted {
  readonly deployment: string;
  readonly inputs?: Inputs;
}

export async function POST(request: Request): Promise<Response> {
  try {
    const client = new Runledger(); // RUNLEDGER_URL, RUNLEDGER_API_KEY: they stay on the server
    const { deployment, inputs } = (await request.json()) as Wanted;
    const { run_id } = await client.runs.queue(deployment, inputs, { signal: request.signal });
    const { token } = await client.request('POST', '/run/{run_id}/tokens', {
      params: { run_id },
      body: { scopes: ['read', 'events'], expires_in_s: 3_600 },
    });
    return Response.json({ run_id, token }, { status: 202 });
  } catch (error) {
    if (error instanceof ValidationError) return Response.json({ detail: error.problems }, { status: 422 });
    if (error instanceof RunledgerError) return Response.json({ detail: error.message }, { status: 502 });
    throw error;
  }
}
