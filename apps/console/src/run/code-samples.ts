/** What a program sends to queue such a run. */
interface QueuedRun {
  readonly deployment_id: string;
  readonly inputs: unknown;
}

export type Language = 'curl' | 'TypeScript' | 'Python';

/** The request that queues such a run, for a program. `api`: the address of the API. The key stays in the environment. */
export const codeSamples = (run: QueuedRun, api: string): Readonly<Record<Language, string>> => ({
  curl: `curl ${quoted(`${api}/run/deployment/queue`)} \\
  --header "Authorization: Bearer $RUNLEDGER_API_KEY" \\
  --header 'Content-Type: application/json' \\
  --data ${quoted(JSON.stringify(run))}`,
  TypeScript: `import { Runledger } from '@runledger/client';

// RUNLEDGER_API_KEY is in the environment.
const client = new Runledger({ url: ${JSON.stringify(api)} });
const run = await client.run(${JSON.stringify(run.deployment_id)}, ${JSON.stringify(run.inputs, undefined, 2)});
console.log(run.outputs);`,
  Python: `import json
from runledger import Runledger

# RUNLEDGER_API_KEY is in the environment.
with Runledger(${JSON.stringify(api)}) as client:
    inputs = json.loads(${pythonText(JSON.stringify(run.inputs))})
    run = client.run(${JSON.stringify(run.deployment_id)}, inputs)
    print(run["outputs"])`,
});

/** As one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** JSON text of a text is a text of Python, too. */
const pythonText = (text: string): string => JSON.stringify(text);
