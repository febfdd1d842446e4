oye, ¿estás despierto?
voy de camino, 10 min
jaja no puedo creer que haya dicho eso
¿Llegaste bien a casa?
Perdón, acabo de ver esto
Voy con retraso, empezad sin mí
a qué hora te viene bien mañana
No te preocupes, podemos hacerlo otro día
¿Puedes comprar leche cuando vuelvas?
¡Mil gracias, me has salvado la vida!
Se me quedó sin batería el móvil, perdona
entonces, ¿sigue en pie lo del viernes?
Te escribo cuando aterrice
para, que me estás sacando los colores
¡Adivina a quién me encontré en el gimnasio!
uf, tengo un montón de deberes
Ya te echo de menos
no contesta al teléfono, ¿debería preocuparme?
No quería decir eso
Espera, están llamando a la puerta
jaja, muy buena
¿Qué autobús cojo para ir a tu casa?
Por fin se ha dormido el bebé
No me apetece salir esta noche
¿Puedo llevar a un amigo?
¡Feliz cumpleaños! Espero que pases un día increíble
Te dejaste el cargador en mi casa
Te debo 20 de la cena, ¿no?
espera, ¿qué? ¿desde cuándo?
Mándame las fotos de anoche, por favor
Me parece bien
¿Estás enfadado conmigo o qué?
El wifi de aquí es malísimo, luego te llamo
¡¡¡Me han dado el trabajo!!!
No se lo digas a nadie, es una sorpresa
estamos en la mesa junto a la ventana
Avísame si necesitas algo
Llevo una hora en un atasco
¡Cruzo los dedos por tu examen!
¿Quién conduce esta noche?
no sé, pregúntale a tu madre
No me apetece cocinar, ¿pizza?
¿Ya has visto el último capítulo? Sin spoilers, por favor
No para de escribirme y no sé qué decirle
Que te mejores pronto, un abrazo fuerte
Me han vuelto a cancelar el tren
Buenas noches, que duermas bien
Me encantaría, pero trabajo este fin de semana
¿me puedes llamar un momento?
No te vas a creer lo baratos que están los vuelos
Espero que se encuentre bien.
Adjunto le envío el contrato firmado.
Gracias por responderme tan rápido.
Le escribo para preguntar por la habitación que anunció la semana pasada.
¿Podríamos pasar la reunión al jueves por la tarde?
Le pido disculpas por la demora en responder.
Quedamos a la espera de su respuesta.
Como hablamos por teléfono, el pago vence el día 15.
Me temo que no podremos asistir al evento.
No dude en decirme si tiene alguna pregunta.
Todavía no he recibido el reembolso del pedido que cancelé.
Hemos recibido su solicitud y la estamos revisando.
¿Sería posible hacer la entrada antes del mediodía?
Pongo en copia a mi compañera, que se encargará a partir de ahora.
La factura que nos enviaron contiene un error.
Mi hijo no irá hoy al colegio porque tiene fiebre.
Por favor, confirme su asistencia antes del lunes.
Un breve recordatorio: la oficina estará cerrada el viernes.
Lamentamos comunicarle que el puesto ya ha sido cubierto.
Le agradecería que me enviara una copia del recibo.
La calefacción del piso no funciona desde el domingo.
Un cordial saludo,
Estimado señor o señora:
Estaré fuera de la oficina hasta final de mes.
Si se trata de algo urgente, llame al número que figura abajo.
En relación con mi último correo, ¿han tomado ya una decisión?
Su presentación nos causó muy buena impresión.
Me gustaría darme de baja a partir del mes que viene.
Nuestro equipo se pondrá en contacto con usted en un plazo de dos días laborables.
¿Puedes enviarme la última versión del documento?
Se me olvidó el archivo adjunto, aquí está.
Le ruego que trate esta información como confidencial.
El precio incluye el desayuno, pero no el aparcamiento.
Tengo cinco años de experiencia en atención al cliente.
Hemos decidido optar por otro proveedor.
¿Podría explicarme este cargo de mi factura?
Los niños disfrutaron mucho del día con ustedes.
Quisiera reservar una mesa para seis personas el sábado por la noche.
No dude en ponerse en contacto conmigo si hay algo que no queda claro.
Hablemos la semana que viene y repasemos las cifras.
Añadir al carrito
Envío gratis en pedidos superiores a 50 $
Tu sesión ha caducado. Vuelve a iniciar sesión.
Solo quedan 3 unidades
¿Has olvidado tu contraseña?
Agotado
Compra uno y llévate otro gratis
Introduce el código que hemos enviado a tu teléfono
Este artículo no admite devolución
Ordenar por: precio, de menor a mayor
Activar notificaciones
Algo ha ido mal. Inténtalo de nuevo más tarde.
Lavar a máquina en frío, no usar secadora
¡Tu pedido está en reparto!
¿Seguro que quieres eliminar esta foto?
Guardar cambios
No hay suficiente espacio de almacenamiento
Mantener fuera del alcance de los niños.
Valora a tu conductor
Espera mientras procesamos tu pago
Tu prueba gratuita termina en 3 días
Las contraseñas no coinciden.
Continuar como invitado
Pilas no incluidas
Otros clientes también compraron
Hemos actualizado nuestra política de privacidad
Chaqueta impermeable ligera con dos bolsillos con cremallera
¿Permitir que esta aplicación use tu ubicación?
Cerrado domingos y festivos
Coja un número y espere su turno
Regístrate y consigue un 10 % de descuento en tu primer pedido
No tienes mensajes nuevos
Omitir por ahora
Solo efectivo
Comprueba tu conexión a internet e inténtalo de nuevo
Conservar en un lugar fresco y seco
Darse de baja de estos correos
Talla pequeño, recomendamos pedir una talla más
Selecciona un asiento
Consumir preferentemente antes de: ver tapa
El mes pasado, el desempleo cayó a su nivel más bajo en una década.
Los bomberos siguen luchando contra el incendio en las afueras de la ciudad.
El Gobierno ha anunciado nuevas medidas para hacer frente a la subida de los alquileres.
Al menos doce personas resultaron heridas al volcar un autobús en la autopista.
Las ventas aumentaron un 8 % con respecto al mismo periodo del año anterior.
Los científicos han descubierto una nueva especie de rana en la selva tropical.
Se esperan fuertes lluvias en el norte del país este fin de semana.
La empresa negó haber cometido irregularidad alguna.
Los votantes acudirán a las urnas el domingo para elegir nuevo alcalde.
El estudio siguió a más de dos mil adultos durante quince años.
La policía pide a cualquiera que haya visto el accidente que se ponga en contacto.
El puente permanecerá cerrado al tráfico hasta nuevo aviso.
El precio de la vivienda se ha duplicado en los últimos diez años
El equipo perdió la final en los penaltis tras un partido muy tenso.
Según el informe, uno de cada cuatro niños no come suficiente verdura.
El museo reabre en primavera tras tres años de reformas.
Los precios del petróleo cayeron bruscamente el martes.
La huelga ha provocado largos retrasos en varios aeropuertos.
"Estamos haciendo todo lo que podemos", declaró el ministro a los periodistas.
Los resultados deben interpretarse con cautela debido al reducido tamaño de la muestra.
Han detenido a un hombre en relación con el robo.
La nueva ley entrará en vigor el 1 de enero.
Miles de personas salieron a la calle para protestar contra los recortes.
El terremoto se sintió a cientos de kilómetros de distancia.
Los costes fueron más altos de lo previsto, principalmente por el precio de la energía.
Los dos líderes se reunieron por primera vez desde el final de la guerra.
Los colegios permanecerán cerrados por segundo día a causa de la nieve.
Los expertos advierten de que la sequía podría durar hasta el otoño.
La cantante canceló su gira por motivos de salud.
La mayoría de los encuestados afirmó que preferiría trabajar desde casa.
El río se desbordó e inundó decenas de viviendas.
Aún no está claro qué provocó el incendio.
La temperatura media ha aumentado casi un grado desde 1950.
La aerolínea prevé contratar a 500 nuevos pilotos en los próximos dos años.
Los médicos afirman que el paciente está fuera de peligro.
El tribunal falló a favor de los trabajadores.
El turismo representa alrededor de un tercio de los ingresos de la isla.
Las negociaciones se rompieron anoche a última hora sin acuerdo.
Los agricultores de la zona temen perder toda la cosecha.
El excursionista desaparecido fue hallado sano y salvo el miércoles por la mañana.
¡Al suelo!
¿Qué demonios haces aquí?
Te dije que no volvieras.
No tenemos mucho tiempo.
No me lo puedo creer.
Suelta el arma y nadie saldrá herido.
¿Desde cuándo lo sabes?
Ella era como una madre para mí.
- ¿Dónde está? - Se ha ido.
Creía que estabas muerto.
Vamos, salgamos de aquí.
No es asunto tuyo.
No tienes ni idea de lo que es capaz.
Si le pasa algo, nunca te lo perdonaré.
¿Quién te envía?
Cuídate, chaval.
No me voy sin ti.
Espera, puedo explicártelo todo.
Fue hace mucho tiempo.
¿Tengo cara de estar bromeando?
Está mintiendo y lo sabes.
¡Que alguien llame a una ambulancia!
El dinero está en el maletero del coche.
Deberías haberme dicho la verdad.
Señoría, no tengo más preguntas.
Baja la voz, que nos van a oír.
Juro que no toqué nada.
¿Y si no vienen?
Bienvenido a la familia.
Nos estamos quedando sin aire.
¡Déjala en paz!
Supongo que ahora estamos en paz.
Esta noche bebemos, mañana luchamos.
No es tan grave como parece.
Llevo tres días sin dormir.
Siempre tuviste razón sobre él.
Hay algo que tengo que decirte.
¡Que nadie se mueva!
Algún día entenderás por qué lo hice.
Así que así es como acaba...
¿Dónde está la farmacia más cercana?
Soy alérgico a los frutos secos.
¿Cuánto cuesta enviar este paquete a España?
Me duele la espalda cuando me agacho.
¿Podría hablar un poco más despacio, por favor?
Hay que sacar al perro dos veces al día.
¿Hay algún supermercado abierto a estas horas de la noche?
Vivimos aquí desde hace casi veinte años.
He perdido la cartera en el metro.
¿Qué tiempo hace en tu ciudad?
La sopa está demasiado salada para mí.
¿Me ayudas a subir esto?
Quiero un café con leche sin azúcar.
Mi abuela me enseñó a hacer pan.
¿Aceptan tarjetas de crédito?
La lavadora hace un ruido raro.
¿Cada cuánto pasa el autobús a la playa?
Me acuesto temprano porque me levanto a las cinco.
Estos zapatos me aprietan un poco.
¿Has estado alguna vez en la montaña en invierno?
Me toca fregar los platos.
¿Qué quieres ser de mayor?
Los vecinos de arriba son muy ruidosos.
Gire a la izquierda en el semáforo y siga todo recto.
No encuentro mis gafas por ninguna parte.
¿Este tren para en el aeropuerto?
Mi hija empieza el colegio en septiembre.
Tome una pastilla cada ocho horas después de las comidas.
Llevo seis meses aprendiendo español.
¿Le importaría hacernos una foto?
Nos quedamos sin gasolina en medio de la nada.
¿Por qué el cielo es azul?
El grifo de la cocina vuelve a gotear.
Me gusta más el rojo que el azul.
¿A qué hora sale el último autobús?
Dejó de fumar hace dos años.
Hay un pelo en mi ensalada.
¿Cómo se dice "cheers" en español?
En esta época del año anochece muy pronto.
Tengo que renovar el pasaporte antes del verano.
