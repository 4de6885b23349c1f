import { Form, NameField } from '../ui/form.tsx';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { usePages } from '../api/use-pages.ts';
import { useMay } from '../session/use-session.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';

/** The kinds of places where workflows are executed. */
export const MachinesPage = (): ReactNode => {
  const mayWrite = useMay('admin');
  const { pages, ...list } = usePages(['machines'], async (page, signal) =>
    answered(api.GET('/machines', { params: { query: page }, signal })),
  );
  return (
    <div className="stack">
      <div className="row apart">
        <h1>Machines</h1>
        {mayWrite && (
          <DialogButton title="New machine">{(close) => <MachineForm onMade={close} />}</DialogButton>
        )}
      </div>
      <List
        what="machines"
        columns={['Name', 'GPU', 'Runner', 'Type', 'Made']}
        empty="There is no machine yet. A machine says which GPU and which runner execute a workflow."
        rows={pages
          .flatMap(({ machines }) => machines)
          .map(({ id, name, gpu, runner, type, version, archived, created_at }) => (
            <tr key={id}>
              <th scope="row">
                {name} {archived && <span className="tag">archived</span>}
              </th>
              <td>{gpu}</td>
              <td>{runnerWords(runner)}</td>
              <td>
                {type} {version}
              </td>
              <td>
                <Ago time={created_at} />
              </td>
            </tr>
          ))}
        {...list}
      />
    </div>
  );
};

type Runner = Schemas['Runner'];
const KINDS = ['program', 'cog', 'comfyui', 'code'] as const satisfies readonly Runner['kind'][];

const runnerWords = (runner: Runner): string => {
  switch (runner.kind) {
    case 'program':
      return `program ${runner.program}`;
    case 'cog':
      return `Cog model ${runner.model}`;
    case 'comfyui':
      return 'ComfyUI';
    case 'code':
      return runner.server ? 'code of versions for ComfyUI' : 'code of versions';
  }
};

/** What a kind of runner is asked for beside it. */
const TARGETS: Readonly<Partial<Record<Runner['kind'], string>>> = {
  program: 'Program, as the executors name it',
  cog: 'Model, as the executors name it',
};

const MachineForm = ({ onMade }: { readonly onMade: () => void }): ReactNode => {
  const [kind, setKind] = useState<Runner['kind']>('program');
  const create = useMutation({
    mutationFn: async (body: Schemas['NewMachine']) => answered(api.POST('/machines', { body })),
    onSuccess: onMade,
  });
  const submit = (text: (name: string) => string): void =>
    create.mutate({
      name: text('name'),
      gpu: text('gpu').toUpperCase(),
      runner: runnerOf(kind, text('target')),
    });
  return (
    <Form button="Make the machine" sending={create} onSubmit={submit}>
      <NameField />
      <label className="field">
        GPU model, such as RTX4090; CPU for none
        <input name="gpu" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,39}" autoComplete="off" />
      </label>
      <label className="field">
        Runner
        <select value={kind} onChange={({ target }) => setKind(target.value as Runner['kind'])}>
          {KINDS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      {TARGETS[kind] && (
        <label className="field">
          {TARGETS[kind]}
          <input name="target" required autoComplete="off" />
        </label>
      )}
    </Form>
  );
};

const runnerOf = (kind: Runner['kind'], target: string): Runner => {
  switch (kind) {
    case 'program':
      return { kind, program: target };
    case 'cog':
      return { kind, model: target };
    case 'comfyui':
    case 'code':
      return { kind };
  }
};
