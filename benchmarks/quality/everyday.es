oye ya estás en casa
voy en camino, llego en 10
puedes pasar por mí después del trabajo
jaja eso estuvo malísimo
no sé qué ponerme esta noche
gracias por lo de anoche, la pasé muy bien
perdón, no puedo hablar ahora, te llamo luego
mamá te contó lo del domingo
me muero de hambre, pidamos pizza
feliz cumple!! espero que tengas un día increíble
dónde estacionaste el coche
espérame afuera por favor
ok, nos vemos mañana
¡Buenos días, hermosa!
¿qué tal va el nuevo trabajo?
se me está acabando la batería del celular
quién lleva las bebidas el sábado
te extraño muchísimo
¿Sigue en pie lo de comer hoy?
no te preocupes, tómate tu tiempo
acabo de aterrizar, estoy esperando mis maletas
la verdad la película no me gustó tanto
no puedo creer que ella le haya dicho eso
ya vuelvo, hay alguien en la puerta
¡No te olvides de darle de comer al gato!
quieres venir a casa a ver el partido
los niños por fin se durmieron
tienes razón, fue mi culpa
mándame las fotos de la boda cuando puedas
aquí está lloviendo a cántaros
estás bien? hoy parecías un poco triste
Voy tarde, empiecen sin mí.
buenas noches, que duermas bien
cuánto te debo por las entradas
otra vez dejé mis llaves en tu casa
olvídalo, ya lo encontré
¿A qué hora llega tu tren?
adivina a quién me acabo de encontrar
no puedo ir esta noche, tengo fiebre
por cierto, la abuela te manda saludos
nos hace falta leche o algo
tu hermano es muy gracioso
Estoy en la esquina junto al banco, no te veo
felicidades por la nueva casa!!
atascado en el tráfico, no me esperes despierta
Eso pensé yo también.
avísame cuando llegues bien
por qué no me contestas
alguien ha visto mi chaqueta azul
lo antes posible por favor, es urgente
Estimado Sr. Thompson,
Gracias por su correo electrónico del 12 de mayo.
Adjunto encontrará la factura del mes pasado.
Quedo a la espera de su respuesta.
Saludos cordiales,
Le escribo para solicitar el puesto de asistente de ventas.
¿Podríamos cambiar la reunión al jueves a las 3:00?
Estaré fuera de la oficina hasta el lunes 7 de agosto.
Lamentamos informarle que su solicitud no ha sido aceptada.
Hola, equipo: les recuerdo que las hojas de horas deben entregarse el viernes.
Por favor, firme ambas copias y devuélvanos una.
Disculpe la demora en responder.
Su alquiler vence el día 1 de cada mes.
¿Puedes enviarme la última versión del informe?
A quien corresponda:
Quisiera presentar una queja sobre mi reciente estancia en su hotel.
Nos complace ofrecerle un contrato a tiempo completo.
Hablemos de esto en nuestra llamada de mañana.
El presupuesto del próximo año aún no se ha aprobado.
Según lo acordado por teléfono, le envío mis datos bancarios.
Le rogamos que acepte nuestras más sinceras disculpas por las molestias.
Su cita con el Dr. Patel está confirmada para las 10:30.
¿Quién levanta el acta hoy?
Mi hija faltó ayer porque estaba resfriada.
Si tiene alguna pregunta, no dude en ponerse en contacto conmigo.
Re: Plazas de estacionamiento detrás del edificio
La impresora del 2.º piso se ha quedado otra vez sin tóner.
¡Felicidades por tu ascenso, Laura!
Por favor, infórmenos si asistirá.
Por la presente renuncio a mi puesto, con efecto a partir del 30 de junio.
Para tu información, el cliente volvió a llamar esta mañana.
Con nuestro más sentido pésame por la pérdida de su padre.
Está cordialmente invitado a la boda de Anna y David.
Hemos recibido su pago de $250.
He puesto en copia a María en este correo.
Este es nuestro segundo recordatorio sobre la factura impaga.
¡Tengo muchas ganas de trabajar con todos ustedes!
¿Podría confirmar la dirección de entrega?
Queridos vecinos: el sábado por la noche haremos una pequeña fiesta.
El plazo se ha ampliado dos semanas.
Atentamente,
Tengo cinco años de experiencia como enfermera.
Por favor, llámeme cuando reciba este mensaje.
La calefacción de nuestro apartamento no funciona desde el martes.
Gracias de nuevo por toda tu ayuda con la mudanza.
Todos los empleados deben llevar su credencial en todo momento.
Adjunto mi currículum y dos cartas de recomendación.
¿Te viene bien el próximo miércoles?
Le agradeceríamos una pronta respuesta.
Con mucho cariño de parte de todos,
Botas de senderismo impermeables para mujer, talla 38
Envío gratis en pedidos superiores a $50
Su pedido ha sido enviado.
Botella de agua de acero inoxidable, 750 ml
Compre 2 y llévese 1 gratis
Excelente calidad por el precio.
Llegó roto y el vendedor nunca respondió.
Solo quedan 3 en existencia
Agregar al carrito
Sábanas 100% algodón, tamaño queen
Los clientes también compraron
Queda perfecto y el color es igual al de la foto.
Su paquete llegará entre las 9:00 y las 13:00.
Auriculares inalámbricos con estuche de carga
¡La oferta termina el domingo!
Lo devolví porque me quedaba demasiado pequeño.
Impermeable infantil con capucha, amarillo
Hasta un 70% de descuento en ropa de verano
Intentamos entregar su paquete, pero no había nadie en casa.
Reembolso emitido
A mi perro le encanta, ¡volveré a comprarlo!
Sartén antiadherente, 28 cm
Use el código SAVE10 al pagar.
Pilas no incluidas
La cremallera se rompió a los dos días.
Juego de 6 copas de vino
Agotado
Ordenar por: precio, de menor a mayor
Fácil de montar, tardé unos 20 minutos.
Té verde orgánico, 50 bolsitas
Su tarjeta fue rechazada.
Lavar a máquina en frío, no planchar.
Lámpara de escritorio LED regulable, negra
No vale lo que cuesta.
Devoluciones gratuitas dentro de los 30 días
¿Cómo calificaría su compra?
Regístrese y obtenga un 15% de descuento en su primer pedido.
El pedido #48213 está listo para recoger.
Compatible con la mayoría de los teléfonos Android
Huele muy bien, pero no dura mucho.
Jeans ajustados para hombre, azul oscuro
Envoltura de regalo disponible
Buen producto, pero el envío tardó tres semanas.
Manguera de jardín, 25 m
Novedades todos los viernes
Crema de manos hidratante para piel seca
Entrega estimada: 4 de junio - 8 de junio
Cinco estrellas, mi nieto juega con él todos los días.
Rompecabezas de madera para niños a partir de 3 años
¿Esta mesa es apta para uso en exteriores?
Guardar cambios
¿Olvidó su contraseña?
Algo salió mal. Vuelva a intentarlo.
Cerrar sesión
Sin conexión a Internet
Tiene 3 mensajes nuevos
¿Seguro que desea eliminar esta foto?
Aceptar todas las cookies
Nombre
Fecha de nacimiento (DD/MM/AAAA)
La contraseña debe tener al menos 8 caracteres.
Cargando...
Descargar la aplicación
A María le gustó tu foto
Su sesión ha caducado.
Página no encontrada
Activar las notificaciones
Batería baja: queda un 10%
He leído y acepto los términos y condiciones
Volver arriba
Introduzca el código de 6 dígitos que enviamos a su teléfono.
Dirección de correo electrónico no válida
Omitir anuncio en 5 segundos
Actualización disponible
Compartir con amigos
Configuración de privacidad
Este campo es obligatorio.
Archivo demasiado grande (máx. 10 MB)
¿Permitir que esta aplicación use su ubicación?
Siguiente
Buscar una ciudad o dirección
Marcar como leído
Su prueba gratuita termina en 7 días.
Cancelar suscripción
Modo oscuro
No se encontraron resultados para "blue shoes"
Alguien acaba de iniciar sesión en su cuenta desde un dispositivo nuevo.
Seleccionar todo
No hay suficiente espacio de almacenamiento
Ver más comentarios
Su conductor está a 2 minutos
Enviar de nuevo
Toque para grabar, suelte para enviar
Última vez hoy a las 14:05
Este video no está disponible en su país.
Copiar enlace
Elija un nombre de usuario
¡Has alcanzado tu meta de pasos de hoy!
Abrir en el navegador
Preguntas frecuentes
Prohibido fumar
Piso mojado
Por favor, no dé de comer a las aves.
Abierto de lunes a sábado, 9:00-18:00
Cerrado los días festivos
Precaliente el horno a 180 °C.
Agregue la cebolla y el ajo y cocine hasta que estén tiernos.
2 cucharadas de aceite de oliva
Salmón a la parrilla con verduras asadas
Sopa del día
Tome una tableta dos veces al día con alimentos.
Mantener fuera del alcance de los niños.
Cuidado con el espacio entre el tren y el andén.
El vuelo 482 a Madrid está embarcando por la puerta 12.
Salida de emergencia
Fuera de servicio
Estacionamiento solo para clientes
Agitar bien antes de usar.
El desayuno se sirve de 7:00 a 10:30.
Entrada a partir de las 15:00, salida antes de las 11:00
Dos boletos de ida al aeropuerto, por favor.
Los perros deben llevar correa.
Sábado 21 de octubre
Consumir preferentemente antes de: ver base de la lata
Empuje
Los menores de 12 años deben ir acompañados de un adulto.
Mezcle la harina, el azúcar y la sal en un tazón grande.
Límite de velocidad 50 km/h
¿A qué distancia está la playa desde aquí?
Pastel de chocolate con helado de vainilla
Cuidado con el perro
El museo es gratuito el primer domingo de cada mes.
Por favor, espere aquí a que le asignen mesa.
La ONU y la UE firmaron el acuerdo en 2015.
Gato perdido, gris con patas blancas, responde al nombre de "Milo"
No se apoye en la puerta.
Para 4 personas. Listo en 30 min.
Todos nuestros platos pueden contener trazas de frutos secos.
Camino cerrado más adelante
Coloque las pilas como se muestra en la imagen.
Las mujeres deben prestar atención a estos síntomas, dice la OMS.
La habitación 204 tiene vista al mar y una cama doble.
No hay socorrista de servicio. Nade bajo su propia responsabilidad.
Casa en alquiler, 3 habitaciones, 120 m², cerca del parque
Deje reposar la masa durante 1 hora en un lugar cálido.
Abróchese el cinturón mientras esté sentado.
¿Agua sin gas o con gas?
El último autobús sale a las 23:40.
Por favor, apaguen sus celulares durante la función.
Baño de damas
No lo entiendes, viene por nosotros.
¡Suelta el arma! ¡Ahora!
Nunca dejé de amarte.
Era una noche fría y el anciano no podía dormir.
"¿Dónde has estado?", preguntó ella.
Cerró la puerta tras de sí y caminó despacio hacia el río.
Más vale tarde que nunca.
Dos heridos tras un accidente de autobús en el centro de la ciudad
Está lloviendo a cántaros.
El gobierno anuncia nuevos recortes de impuestos para las pequeñas empresas
Nadie me dijo que sería tan difícil ser padre
¿Quién eres y qué quieres de mí?
Miró por la ventana, pero la calle estaba vacía.
A quien madruga, Dios le ayuda.
¡Sal de aquí antes de que llame a la policía!
El equipo local gana la final 3-1
"No le tengo miedo a la oscuridad", dijo el niño.
Había una vez un rey que tenía tres hijas.
Ese examen fue pan comido.
Opinión impopular: la piña sí va en la pizza
Una tormenta deja a miles de personas sin electricidad
Tenemos compañía.
¡Cuánto tiempo sin verte, amigo mío!
Mi abuelo solía contarnos historias junto al fuego.
Me estás tomando el pelo.
Día 5 de mi dieta y ya me comí un pastel entero
Doctor, ¿ella estará bien?
No hay mal que por bien no venga.
La policía busca a una niña de 14 años desaparecida
Tengo un mal presentimiento sobre esto...
La carta llevaba una semana sobre la mesa.
Los precios de la gasolina bajan por tercera semana consecutiva
Quien ríe último ríe mejor.
El mejor concierto de mi vida, sigo sin voz
Damas y caballeros, ¡den la bienvenida a nuestro próximo invitado!
Si lo hubiera sabido, te lo habría dicho.
El capitán no dijo nada, pero le temblaban las manos.
Ni se te ocurra tocar a mi hermano.
Cuesta un ojo de la cara.
¿Alguien puede recomendar un buen dentista cerca del centro?
Cómo dormir mejor: 7 consejos sencillos
Dile a tu madre que lo siento.
Capítulo 3: La casa de la colina
Muere un famoso actor a los 82 años
"Entra", susurró, "y no hagas ruido."
Muy orgulloso de mi hermanita, ¡hoy se graduó!
Dejémoslo por hoy.
Años más tarde, ella aún recordaría el olor de aquella cocina.
¡Mucha suerte esta noche!
Lo hecho, hecho está.
