import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FileDrop } from '../../ui/file-drop.tsx';
import { Problem } from '../../ui/problem.tsx';
import { bytes } from '../../ui/words.ts';
import { acceptedFiles } from './form-inputs.ts';
import { uploadFile, UPLOADS } from './upload-file.ts';

interface FileFieldProps {
  readonly id: string;
  readonly type: string;
  /** Of the uploaded file; empty for none. */
  readonly fileId: string;
  readonly onChange: (fileId: string | undefined) => void;
}

/** Takes a file that is chosen or dropped, uploads it, and gives its id. */
export const FileField = ({ id, type, fileId, onChange }: FileFieldProps): ReactNode => {
  const upload = useMutation({
    mutationKey: UPLOADS,
    mutationFn: uploadFile,
    // The file before it is not the one that was chosen last.
    onMutate: () => onChange(undefined),
    onSuccess: ({ id: uploaded }) => onChange(uploaded),
  });
  return (
    <FileDrop id={id} accept={acceptedFiles(type)} onFiles={([file]) => file && upload.mutate(file)}>
      <p className="quiet" role="status">
        {upload.isPending && 'Uploading …'}
        {!upload.isPending &&
          upload.data &&
          fileId !== '' &&
          `${upload.data.filename}, ${bytes(upload.data.bytes)}, is uploaded.`}
        {!upload.isPending && fileId === '' && 'Choose a file, or drop one here.'}
      </p>
      {upload.error && <Problem error={upload.error} />}
    </FileDrop>
  );
};
