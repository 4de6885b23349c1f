import { isJsonObject } from '@runledger/contracts/json';

/** What a server says of a class of nodes in `GET /object_info/{class}`, as far as the executor needs it. */
export interface NodeClass {
  /** Its nodes are ends of a workflow: the server executes them for what they make. */
  readonly isOutput: boolean;
  /** It hands its `filename_prefix` to ComfyUI's own `folder_paths.get_save_image_path`, which makes the folders of it. */
  readonly resolvesPrefix: boolean;
  /** It comes with ComfyUI. */
  readonly isBuiltIn: boolean;
}

export const readNodeClass = (class_type: string, info: unknown): NodeClass => {
  const { output_node, python_module, input } = isJsonObject(info) ? info : {};
  const module = typeof python_module === 'string' ? python_module : '';
  const isBuiltIn = BUILT_IN.test(module);
  const inFolder = takes(input, FOLDER);
  return {
    isOutput: output_node === true,
    isBuiltIn,
    resolvesPrefix: (isBuiltIn && !inFolder) || RESOLVING.has(class_type),
  };
};

/** The modules of the server itself, and of the packages that come with it. */
const BUILT_IN = /^(nodes|comfy_extras\..*|comfy_api_nodes\..*)$/;

/** ComfyUI's own nodes for data sets join this folder and the prefix themselves. All of its others resolve the prefix (read in 0.3.64 to 0.27). */
const FOLDER = 'folder_name';

/** Public classes that resolve it, as their sources show: those of comfyui-deploy and ComfyUI-VideoHelperSuite. */
const RESOLVING: ReadonlySet<string> = new Set([
  'ComfyDeployOutputEXR',
  'ComfyDeployOutputImage',
  'ComfyDeployOutputText',
  'VHS_VideoCombine',
]);

const takes = (input: unknown, name: string): boolean =>
  isJsonObject(input) &&
  Object.values(input).some((group) => isJsonObject(group) && Object.hasOwn(group, name));
